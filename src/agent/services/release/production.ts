import { join } from 'node:path';
import type { Releases } from '../../adapters/files/releases.ts';
import { smallText } from '../../adapters/files/smallText.ts';
import type { Settings } from '../../config/settings.ts';
import { maxCharacters } from '../../../protocol/manifest.ts';
import type { State } from '../../rules/state/state.ts';
import { productionOf } from '../../rules/release/volumes.ts';

/** Whether this is a production env by what was `ordered` or by what the host knows: any release on disk may have been one (spec §7.1). */
export async function isProduction(
  { releases, settings }: { releases: Releases; settings: Settings },
  { production, production_unknown }: Readonly<State>,
  ordered: boolean,
): Promise<boolean | null> {
  if (ordered || settings.production || production) return true;
  if (productionOf(await toldByReleases(releases)) === true) return true;
  return production_unknown === true ? null : false;
}

/** What each release on disk tells of the env: whether it was production when the release was made, null where it is unreadable. */
export async function toldByReleases(releases: Releases): Promise<(boolean | null)[]> {
  const shas = await releases.list();
  return Promise.all(
    shas.map(async (sha) => (await releases.readRecord(sha))?.production ?? (await byManifest(releases, sha))),
  );
}

/** A manifest can call an env production; what check-in and configuration said when it was applied it cannot deny. */
async function byManifest(releases: Releases, sha: string): Promise<true | null> {
  const text = await smallText(join(releases.pathOf(sha), 'manifest.json'), 4 * maxCharacters + 4);
  try {
    const manifest: unknown = JSON.parse(text ?? '');
    return (Object(manifest) as { production?: unknown }).production === true ? true : null;
  } catch {
    return null;
  }
}
