import { createHash } from 'node:crypto';
import { contentSources } from '../../../bundle/compose/composeContents.rules.ts';
import type { ComposeFile } from '../../../bundle/compose/composeNode.rules.ts';
import { type BundleContents, countRepairsBelow, type Inventory } from '../../../bundle/archive/inventory.rules.ts';
import { contentLabel } from '../../rules/release/contentLabel.ts';
import type { VerifiedImage } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { loadKeyedDigest } from '../release/keyedDigest.ts';
import { digestsOf } from '../../../bundle/compose/composeFiles.ts';

/** Input of an override. */
export interface OverrideInput {
  contents: BundleContents;
  files: ComposeFile[];
  env: ReadonlyMap<string, string>;
  repairs: Inventory['repairs'];
  /** Images by the digests that were verified; of no service where the host trusts no signatures of images. */
  images: readonly VerifiedImage[];
}

/**
 * Renders the compose file that labels each service with a digest of its content, so that compose recreates exactly the services
 * whose content changed or was repaired (spec §12); a running container keeps the old inode of a mounted file. `pull_policy`
 * makes compose pull the image of each service that `pull` selects; `up` overrides it by its own option. An image that was verified is named by its
 * digest, so that just that one is pulled and run, also by a heal or a revert.
 */
export async function overrideOf(
  deps: Dependencies,
  { contents, files, env, repairs, images }: OverrideInput,
): Promise<string> {
  const keyed = await loadKeyedDigest(deps);
  const sources = contentSources(files);
  const digests = digestsOf(contents, files);
  const mountable = new Set([...sources.values()].flatMap((each) => each.files));
  const below = new Map([...mountable].map((path) => [path, digestOfTree(path, digests)]));
  const services = [...sources].map(([service, { files: mounted, texts, variables }]) => {
    const digest = createHash('sha256');
    for (const path of mounted) digest.update(below.get(path) ?? '').update(repairedText(path, repairs));
    for (const text of texts) digest.update(`${text.length}:${text}`);
    for (const name of variables) digest.update(keyed.of(`${name}=${env.get(name) ?? ''}`), 'hex');
    const hasContent = mounted.length + texts.length + variables.length > 0;
    const labels = hasContent && { labels: { [contentLabel]: digest.digest('hex') } };
    const verified = images.find((each) => each.service === service);
    return [service, { pull_policy: 'always', ...(verified && { image: verified.image }), ...labels }] as const;
  });
  return `${JSON.stringify({ services: Object.fromEntries(services) }, null, 2)}\n`;
}

function repairedText(path: string, repairs: Inventory['repairs']): string {
  const times = countRepairsBelow(path, repairs);
  return times === 0 ? '' : `repaired ${times}`;
}

/** Digest of a file, or of all files below a directory and their paths. */
function digestOfTree(source: string, digests: ReadonlyMap<string, string>): Buffer {
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
