import { readManifest, type UnpackedBundle } from '../../../bundle/readBundle.ts';
import { hasSameContent } from '../../../bundle/plan/changes.rules.ts';
import type { Releases } from '../../adapters/release/releases.ts';
import { wasApplied } from '../../rules/release/releaseRecord.ts';

/**
 * True where this host has applied the content of a bundle before: it is the applied bundle, or a release that was applied has the
 * same files, and a manifest that differs only in the versions of secrets.
 */
export async function isAppliedContent(
  releases: Releases,
  { sha, manifest, contents }: UnpackedBundle,
  appliedSha: string | null,
): Promise<boolean> {
  if (sha !== null && sha === appliedSha) return true;
  for (const each of await releases.listIfExists()) {
    const record = await releases.readRecord(each);
    if (record === null || !wasApplied(record)) continue;
    if (each === sha) return true;
    const inventory = await releases.readInventory(each);
    if (inventory === null) continue;
    const known = await readManifest(releases.pathOf(each), manifest.env);
    if ('manifest' in known && hasSameContent({ manifest, contents }, { ...known, contents: inventory })) return true;
  }
  return false;
}
