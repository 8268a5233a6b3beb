import type { Bundle } from '../../../../machines/words.ts';
import { servicesOf } from '../../rules/compose/contents.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';
import { renderEnvFile } from '../../rules/bundle/envFile.ts';
import { sealOf } from '../release/envSeal.ts';
import { described, putRight, type Unpacked } from '../release/integrity.ts';
import { unchangedHere } from '../release/jobs.ts';
import type { Tools } from '../tools.ts';
import { readComposeFiles } from './composeFiles.ts';
import { environmentOf } from './environment.ts';
import { overrideOf } from './override.ts';
import { unpackedContents } from './unpack.ts';

/**
 * Makes the release: the unpacked files, `.env` (0600), the record of what it consists of, and the override. In a release
 * that is there already what differs from the bundle is replaced (spec §12). What the release in force consists of is kept
 * until it has succeeded anew: it is the way back.
 */
export async function render(tools: Tools, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  const { releases, state, tick, vault } = tools;
  const { sha, manifest } = bundle;
  const { files } = await readComposeFiles(bundle, signal);
  const env = environmentOf(bundle, vault.values());
  const unpacked = { sha, contents: unpackedContents(tools), files, env };
  if (state.state.applied_sha === sha) await releases.keepLastGood(sha);
  else await releases.dropLastGood(sha);
  const override = await place(tools, unpacked, signal);
  const asBundled = await overrideOf(tools, { ...unpacked, repairs: [] });
  const envFile = renderEnvFile(env);
  const remembered = { jobs: await unchangedHere(tools, sha, asBundled), env: await sealOf(tools, envFile) };
  const record = { ...recordOf(bundle, files), ...remembered };
  await releases.complete(sha, { env: envFile, override, granted: tick.granted, record });
  const { version, sequence } = manifest;
  tick.journal.debug(`release rendered: version=${version} sequence=${sequence}`);
}

/** Moves the unpacked files to their release, or puts one right that is there already; the override that goes with them. */
async function place(tools: Tools, unpacked: Unpacked, signal: AbortSignal): Promise<string> {
  const { releases } = tools;
  const { sha } = unpacked;
  if (!(await releases.exists(sha))) {
    const { inventory, override } = await described(tools, unpacked, []);
    await releases.adopt(sha, inventory, signal);
    return override;
  }
  const override = await putRight(tools, { ...unpacked, strict: true }, signal);
  await releases.clearStaging(sha, signal);
  return override;
}

/** What the release remembers of itself; which images it really runs is added when it is applied. */
function recordOf({ sha, manifest }: Bundle, files: ComposeFile[]) {
  const { services, images } = servicesOf(files);
  const { version, sequence, production, compose } = manifest;
  return {
    schema: 1 as const,
    sha,
    version,
    sequence,
    production,
    compose,
    services: services
      .filter(({ profiles }) => profiles.length === 0)
      .map(({ name, replicas }) => ({ name, replicas: replicas ?? 1 })),
    images: images.filter((image) => !image.includes('$')).map((reference) => ({ reference, id: null })),
  };
}
