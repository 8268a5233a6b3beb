import type { Bundle } from '../../../../machines/types.ts';
import { composeContentsOf, writablePaths } from '../../../bundle/compose/composeContents.rules.ts';
import type { ComposeFile } from '../../../bundle/compose/composeNode.rules.ts';
import type { VerifiedImage } from '../../rules/release/releaseRecord.ts';
import { type ServiceFacts, serviceFactsOf } from '../../rules/release/serviceFacts.ts';
import { renderEnvFile } from '../../rules/bundle/envFile.ts';
import { envDigestOf } from '../release/envDigest.ts';
import { describeRelease, repairRelease, type StagedBundle } from '../release/repairRelease.ts';
import { oneShotsToSkip } from '../release/oneShots.ts';
import type { Dependencies } from '../dependencies.ts';
import { readComposeFiles } from '../../../bundle/compose/composeFiles.ts';
import { environmentOf } from './environment.ts';
import { overrideOf } from './override.ts';
import { bundleContentsOf } from './unpack.ts';

/**
 * Writes the release: the unpacked files, `.env` (0600), the release record and the override. In an existing release, files that
 * differ from the bundle are replaced (spec §12); when it is the applied release, a backup for a revert is kept until commit.
 */
export async function renderRelease(
  deps: Dependencies,
  { bundle }: { bundle: Bundle },
  signal: AbortSignal,
): Promise<void> {
  const { releases, state, tick, vault } = deps;
  const { sha, manifest } = bundle;
  const { files } = await readComposeFiles(bundle, signal);
  const env = environmentOf(bundle, vault.values());
  const { images } = tick;
  const unpacked = { sha, contents: bundleContentsOf(deps), files, env, images };
  if (state.state.applied_sha === sha) await releases.saveBackup(sha);
  else await releases.dropBackup(sha);
  const override = await placeFiles(deps, unpacked, signal);
  const unrepairedOverride = await overrideOf(deps, { ...unpacked, repairs: [] });
  const envFile = renderEnvFile(env);
  const recordExtras = {
    jobs: await oneShotsToSkip(deps, sha, unrepairedOverride),
    env: await envDigestOf(deps, envFile),
  };
  const described = releaseRecordOf(bundle, files, images);
  const services = described.services.map((each) => ({
    ...each,
    ...factsOf(tick, each.name),
    ...tick.serviceEdges?.services.get(each.name),
  }));
  const record = { ...described, services, ...recordExtras, signers: tick.signers };
  await releases.writeRendered(sha, { env: envFile, override, granted: tick.grantedPrivileges, record });
  const { version, sequence } = manifest;
  tick.journal.debug(`release rendered: version=${version} sequence=${sequence}`);
}

function factsOf({ writtenServices }: Dependencies['tick'], name: string): Partial<ServiceFacts> {
  const written = writtenServices?.services.find((each) => each.name === name);
  return written === undefined ? {} : serviceFactsOf(written);
}

/** Moves the unpacked files to a new release, or repairs an existing one. Returns the text of the override. */
async function placeFiles(deps: Dependencies, unpacked: StagedBundle, signal: AbortSignal): Promise<string> {
  const { releases } = deps;
  const { sha } = unpacked;
  if (!(await releases.exists(sha))) {
    const { inventory, override } = await describeRelease(deps, unpacked, []);
    await releases.adopt(sha, inventory, signal);
    return override;
  }
  const override = await repairRelease(deps, { ...unpacked, strict: true }, signal);
  await releases.clearStaging(sha, signal);
  return override;
}

/** The release record; `commit` adds the ids of the images that run. */
function releaseRecordOf({ sha, manifest }: Bundle, files: ComposeFile[], verified: readonly VerifiedImage[]) {
  const { version, sequence, production, compose, profiles, variables } = manifest;
  const { services, images: written } = composeContentsOf(files, profiles);
  const images = verified.length === 0 ? written : [...new Set(verified.map(({ image }) => image))];
  return {
    schema: 1 as const,
    sha,
    version,
    sequence,
    production,
    compose,
    profiles,
    variables,
    services: services.map(({ name, replicas }) => ({ name, replicas: replicas ?? 1 })),
    images: images.filter((image) => !image.includes('$')).map((reference) => ({ reference, id: null })),
    verified_images: verified,
    writable: writablePaths(files),
  };
}
