import { Fault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/types.ts';
import type { Containers } from '../../adapters/engine/containers.ts';
import type { Releases } from '../../adapters/release/releases.ts';
import type { Settings } from '../../config/settings.ts';
import { isVolumeDifferent, usesResources } from '../../rules/createdContainers/volumeDifference.ts';
import {
  resourcesWithout,
  describeResources,
  hasNoResources,
  noResources,
  type ProjectResources,
} from '../../rules/release/projectResources.ts';
import type { State } from '../../rules/state/state.ts';
import { removeKeepingVolumes } from './createdContainers.ts';
import { createSecretHasher } from './grantedPrivileges.ts';
import { isProduction } from './production.ts';
import type { Dependencies } from '../dependencies.ts';

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

/** Removes orphaned resources after a revert; a failure is logged. */
export async function removeOrphanedResources(deps: Dependencies): Promise<void> {
  const { containers, state, tick } = deps;
  try {
    const orphans = await findOrphanedResources(deps, state.state, false);
    if (hasNoResources(orphans)) return;
    await containers.removeOwnedResources(orphans);
    const removed = resourcesWithout(orphans, await containers.ownedResources());
    if (!hasNoResources(removed))
      tick.journal.info(`removed, as only a failed bundle made it: ${describeResources(removed)}`);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending !== 'failed') throw error;
    tick.journal.warn(`what only a failed bundle made may stay: ${error.message}`);
  }
}

/**
 * Before a bundle starts on resources of failed attempts: removes those that conflict with it. Volumes are compared with its
 * model; networks, which hold no data, are removed when another bundle created them. Containers that use removed resources are
 * removed as well, so that compose creates them again.
 */
export async function removeConflictingOrphans(deps: Dependencies, sha: Sha): Promise<void> {
  const { containers, state, tick } = deps;
  const baseline = state.state.baseline ?? null;
  if (baseline === null) return;
  const orphans = await findOrphanedResources(deps, state.state, false);
  const conflicts = {
    volumes: orphans.volumes.length === 0 ? [] : await findConflictingVolumes(deps, orphans.volumes),
    networks: baseline.sha === sha ? [] : orphans.networks,
  };
  if (!hasNoResources(conflicts)) {
    const created = await containers.inspectProject();
    for (const container of created.containers.filter((each) => usesResources(each, conflicts)))
      await removeKeepingVolumes(deps, container, created);
    await containers.removeOwnedResources(conflicts);
    tick.journal.info(`made anew, as only a failed bundle made it: ${describeResources(conflicts)}`);
  }
  await state.update({ baseline: { ...baseline, sha } });
}

async function findConflictingVolumes(deps: Dependencies, names: string[]): Promise<string[]> {
  const { grantedPrivileges } = deps.tick;
  if (grantedPrivileges === null) return [];
  const hide = await createSecretHasher(deps);
  const existing = (await deps.containers.volumes()).filter(({ name }) => names.includes(name));
  return existing.filter((volume) => isVolumeDifferent(grantedPrivileges, volume, hide)).map(({ name }) => name);
}
