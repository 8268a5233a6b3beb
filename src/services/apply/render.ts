import { createHash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import type { Bundle } from '../../../machines/words.ts';
import { labelSalt } from '../../adapters/salt.ts';
import { contentSources, servicesOf } from '../../rules/compose/contents.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';
import { renderEnvFile } from '../../rules/envFile.ts';
import type { Tools } from '../tools.ts';
import { digestsOf, readComposeFiles } from './composeFiles.ts';
import { environmentOf } from './environment.ts';

const CONTENT_LABEL = 'deployd.content';

/**
 * Makes the release: the unpacked files, `.env` (0600), the record of what it consists of, and an override that labels
 * each service with a digest of the content it mounts, so that compose recreates exactly what changed (spec §12). It also
 * makes a pull ask for every image anew: compose before 2.22 has no option for that, and `up` is told by its own.
 */
export async function render(tools: Tools, { bundle }: { bundle: Bundle }): Promise<void> {
  const { releases, vault } = tools;
  const { sha, manifest } = bundle;
  const { files } = await readComposeFiles(bundle);
  const env = environmentOf(bundle, vault.values());
  const override = await overrideOf(tools, { bundle, files, env });
  await releases.adopt(sha);
  await releases.complete(sha, { env: renderEnvFile(env), override, record: recordOf(bundle, files) });
  const { version, sequence } = manifest;
  tools.tick.journal.debug(`release rendered: version=${version} sequence=${sequence}`);
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

/** What an override is made of. */
interface Content {
  bundle: Bundle;
  files: ComposeFile[];
  env: ReadonlyMap<string, string>;
}

async function overrideOf(tools: Tools, { bundle: { dir }, files, env }: Content): Promise<string> {
  const salt = await labelSalt(join(tools.settings.state_dir, tools.settings.env));
  const sources = contentSources(files);
  const digests = await digestsOf(dir, files);
  const mountable = new Set([...sources.values()].flatMap((each) => each.files));
  const contents = new Map([...mountable].map((path) => [path, digestBelow(path, digests)]));
  const services = [...sources].map(([service, { files: mounted, texts, variables }]) => {
    const digest = createHash('sha256');
    for (const path of mounted) digest.update(contents.get(path) ?? '');
    for (const text of texts) digest.update(`${text.length}:${text}`);
    for (const name of variables) digest.update(keyed(salt, `${name}=${env.get(name) ?? ''}`));
    const hasContent = mounted.length + texts.length + variables.length > 0;
    const labels = hasContent && { labels: { [CONTENT_LABEL]: digest.digest('hex') } };
    return [service, { pull_policy: 'always', ...labels }] as const;
  });
  return `${JSON.stringify({ services: Object.fromEntries(services) }, null, 2)}\n`;
}

/** A label is readable by whoever may inspect containers: a keyed digest tells nothing about a value. */
function keyed(salt: Buffer, text: string): Buffer {
  return createHmac('sha256', salt).update(text).digest();
}

/** The digest of a file, or of all files below a directory with their paths. */
function digestBelow(source: string, digests: ReadonlyMap<string, string>): Buffer {
  const own = digests.get(source);
  if (own !== undefined) return Buffer.from(own, 'hex');
  const digest = createHash('sha256');
  const below = [...digests].filter(([path]) => path.startsWith(`${source}/`)).sort(byPath);
  for (const [path, one] of below) digest.update(path.slice(source.length)).update(Buffer.from(one, 'hex'));
  return digest.digest();
}

function byPath([one]: [string, string], [other]: [string, string]): number {
  return one < other ? -1 : 1;
}
