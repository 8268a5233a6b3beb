import { Fault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/types.ts';
import { isVolumeDifferent, usesResources } from '../../rules/createdContainers/volumeDifference.ts';
import { resourcesWithout, describeResources, hasNoResources } from '../../rules/release/projectResources.ts';
import type { Dependencies } from '../dependencies.ts';
import { createSecretHasher } from '../release/grantedPrivileges.ts';
import { findOrphanedResources } from '../release/orphanedResources.ts';
import { removeKeepingVolumes } from './createdContainers.ts';

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
