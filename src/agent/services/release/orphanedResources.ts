import type { Containers } from '../../adapters/engine/containers.ts';
import type { Releases } from '../../adapters/release/releases.ts';
import type { Settings } from '../../config/settings.ts';
import {
  resourcesWithout,
  hasNoResources,
  noResources,
  type ProjectResources,
} from '../../rules/release/projectResources.ts';
import type { State } from '../../rules/state/state.ts';
import { isProduction } from './production.ts';

/** What the search for orphaned resources needs. */
interface ProjectAccess {
  containers: Containers;
  releases: Releases;
  settings: Settings;
}

/**
 * Volumes and networks that only failed attempts created, by the baseline in state.json, and that no foreign container uses.
 * Volumes only in an env that is known not to be production; `desiredProduction` is the flag of check-in and bundle (spec §12.11).
 */
export async function findOrphanedResources(
  access: ProjectAccess,
  state: Readonly<State>,
  desiredProduction: boolean,
): Promise<ProjectResources> {
  const { containers } = access;
  const baseline = state.baseline ?? null;
  if (baseline === null) return noResources;
  const mayRemoveVolumes =
    baseline.volumes !== null && (await isProduction(access, state, desiredProduction)) === false;
  const owned = await containers.ownedResources();
  const orphans = resourcesWithout(
    { ...owned, volumes: mayRemoveVolumes ? owned.volumes : [] },
    { ...baseline, volumes: baseline.volumes ?? [] },
  );
  if (hasNoResources(orphans)) return orphans;
  const own = new Set((await containers.list()).map(({ id }) => id));
  const others = (await containers.resourceUsers()).filter(({ id }) => !own.has(id));
  return resourcesWithout(orphans, {
    volumes: others.flatMap(({ volumes }) => volumes),
    networks: others.flatMap(({ networks }) => networks),
  });
}
