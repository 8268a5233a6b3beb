import { createHash, createHmac } from 'node:crypto';
import { join } from 'node:path';
import { labelSalt } from '../../adapters/files/salt.ts';
import { contentSources } from '../../rules/compose/contents.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';
import { repairsBelow, type Contents, type Inventory } from '../../rules/bundle/inventory.ts';
import type { Tools } from '../tools.ts';
import { digestsOf } from './composeFiles.ts';

const CONTENT_LABEL = 'deployd.content';

/** What an override is made of. */
export interface Content {
  contents: Contents;
  files: ComposeFile[];
  env: ReadonlyMap<string, string>;
  repairs: Inventory['repairs'];
}

/**
 * The compose file that labels each service with a digest of the content it mounts, so that compose recreates exactly what
 * changed (spec §12), or was repaired: a container that mounts a file keeps the old one. It also makes a pull ask for every
 * image anew: compose before 2.22 has no option for that, and `up` is told by its own.
 */
export async function overrideOf({ settings }: Tools, { contents, files, env, repairs }: Content): Promise<string> {
  const salt = await labelSalt(join(settings.state_dir, settings.env));
  const sources = contentSources(files);
  const digests = digestsOf(contents, files);
  const mountable = new Set([...sources.values()].flatMap((each) => each.files));
  const below = new Map([...mountable].map((path) => [path, digestBelow(path, digests)]));
  const services = [...sources].map(([service, { files: mounted, texts, variables }]) => {
    const digest = createHash('sha256');
    for (const path of mounted) digest.update(below.get(path) ?? '').update(repairedText(path, repairs));
    for (const text of texts) digest.update(`${text.length}:${text}`);
    for (const name of variables) digest.update(keyed(salt, `${name}=${env.get(name) ?? ''}`));
    const hasContent = mounted.length + texts.length + variables.length > 0;
    const labels = hasContent && { labels: { [CONTENT_LABEL]: digest.digest('hex') } };
    return [service, { pull_policy: 'always', ...labels }] as const;
  });
  return `${JSON.stringify({ services: Object.fromEntries(services) }, null, 2)}\n`;
}

function repairedText(path: string, repairs: Inventory['repairs']): string {
  const times = repairsBelow(path, repairs);
  return times === 0 ? '' : `repaired ${times}`;
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
