import type { Releases } from '../../adapters/release/releases.ts';
import { readManifestText } from '../../../bundle/readBundle.ts';
import type { Settings } from '../../config/settings.ts';
import type { State } from '../../rules/state/state.ts';
import { productionOf } from '../../rules/release/volumeRule.ts';

/** True for a production env, by the desired state, the configuration, the state or any release on disk; null when unknown (spec §7.1). */
export async function isProduction(
  { releases, settings }: { releases: Releases; settings: Settings },
  { production, production_unknown }: Readonly<State>,
  desiredProduction: boolean,
): Promise<boolean | null> {
  if (desiredProduction || settings.production || production) return true;
  if (productionOf(await productionOfReleases(releases)) === true) return true;
  return production_unknown === true ? null : false;
}

/** For each release on disk, whether the env was production when it was applied; null when its record is unreadable. */
export async function productionOfReleases(releases: Releases): Promise<(boolean | null)[]> {
  const shas = await releases.list();
  return Promise.all(
    shas.map(
      async (sha) => (await releases.readRecord(sha))?.production ?? (await productionByManifest(releases, sha)),
    ),
  );
}

/** A manifest can prove that an env is production, but not that it is none: check-in and configuration count too. */
async function productionByManifest(releases: Releases, sha: string): Promise<true | null> {
  const text = await readManifestText(releases.pathOf(sha));
  try {
    const manifest: unknown = JSON.parse(text ?? '');
    return (Object(manifest) as { production?: unknown }).production === true ? true : null;
  } catch {
    return null;
  }
}
