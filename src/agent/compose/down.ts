import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../../machines/fault.ts';
import { catchFault } from '../journal/journal.ts';
import { findOrphanedResources, recordPendingPurge } from '../release/down.ts';
import { type ComposeDependencies, rethrowAsEngineFault } from './observe.ts';
import type { Sha } from '../../../machines/types.ts';
import type { CreatedContainer } from '../engine/createdContainer.rules.ts';
import { createSecretHasher } from '../release/fingerprints.ts';
import type { GrantedPrivileges } from '../release/grantedPrivileges.rules.ts';
import { describeResources, hasNoResources, resourcesWithout } from '../release/volumes.rules.ts';
import type { ProjectResources } from '../state/state.rules.ts';
import { removeKeepingVolumes } from './createdContainers.ts';
import { containersWithPreStop, runPreStop } from './hooks.ts';
import { isVolumeDifferent } from './differences.rules.ts';

/**
 * Runs `compose down`. If it fails, the containers are removed one by one and it runs again, so that no container can
 * prevent the retirement of a host (spec §7.2). Compose fails, for example, if a service depends on a one-shot without
 * a container, which a revert left out.
 */
export async function down(
  deps: ComposeDependencies,
  { volumes }: { volumes: boolean },
  signal: AbortSignal,
): Promise<void> {
  const runDown = () => deps.compose.down(volumes, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
  await runPreStop(deps, [...(await containersWithPreStop(deps)).keys()], signal);
  await runDown().catch(async (error: unknown) => {
    if (!(error instanceof Fault && error.code === 'DOWN_FAILED')) throw error;
    await removeContainers(deps, error, volumes);
    await runDown();
  });
  await recordPendingPurge(deps, volumes);
}

/**
 * After a timeout of compose the containers are killed; otherwise they can stop in that time. A container that the
 * engine cannot remove does not block the others; its fault is thrown at the end.
 */
async function removeContainers(
  deps: ComposeDependencies,
  { isTimeout, tail }: Fault,
  volumes: boolean,
): Promise<void> {
  const { containers, settings, tick } = deps;
  const remaining = await containers.listAll();
  if (!isTimeout) await stopContainers(deps, remaining);
  const removals = await Promise.all(
    remaining.map(({ id }) => catchFault(() => containers.removeContainer(id, { volumes }))),
  );
  const why = isTimeout
    ? `not stopped within ${settings.down_timeout_s}s, so removed by force`
    : `docker compose down failed (${tail?.trim().split('\n').at(-1) || 'without output'}), so removed one by one`;
  const refusal = removals.find((each) => each instanceof Fault);
  const removed = remaining.filter((_, index) => !(removals[index] instanceof Fault));
  if (removed.length > 0) tick.journal.warn(`down: ${why}: ${removed.map(({ name }) => name).join(', ')}`);
  if (refusal) throw refusal;
}

/** Stops all of them at once, within `down_timeout_s`; the rest is killed later. */
async function stopContainers(
  { containers, settings }: ComposeDependencies,
  all: readonly { id: string }[],
): Promise<void> {
  const over = new AbortController();
  const stopped = Promise.allSettled(all.map(({ id }) => containers.stopContainer(id)));
  const late = pause(settings.down_timeout_s * 1000, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([stopped, late]);
  over.abort();
}

/** Removes orphaned resources after a revert; a failure is logged. */
export async function removeOrphanedResources(deps: ComposeDependencies): Promise<void> {
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
export async function removeConflictingOrphans(
  deps: ComposeDependencies,
  sha: Sha,
  granted: GrantedPrivileges,
): Promise<void> {
  const { containers, state, tick } = deps;
  const baseline = state.state.baseline ?? null;
  if (baseline === null) return;
  const orphans = await findOrphanedResources(deps, state.state, false);
  const conflicts = {
    volumes: orphans.volumes.length === 0 ? [] : await findConflictingVolumes(deps, orphans.volumes, granted),
    networks: baseline.sha === sha ? [] : orphans.networks,
  };
  if (!hasNoResources(conflicts)) {
    const created = await containers.inspectProject();
    for (const container of created.containers.filter((each) => usesResources(each, conflicts)))
      await removeKeepingVolumes(deps, container, created);
    await containers.removeOwnedResources(conflicts);
    tick.journal.info(`recreated, because a failed bundle created it: ${describeResources(conflicts)}`);
  }
  await state.update({ baseline: { ...baseline, sha } });
}

async function findConflictingVolumes(
  deps: ComposeDependencies,
  names: string[],
  granted: GrantedPrivileges,
): Promise<string[]> {
  const hide = await createSecretHasher(deps);
  const existing = (await deps.containers.volumes()).filter(({ name }) => names.includes(name));
  return existing.filter((volume) => isVolumeDifferent(granted, volume, hide)).map(({ name }) => name);
}

/** Whether a container mounts one of the volumes or is attached to one of the networks. */
export function usesResources(
  { Mounts, NetworkSettings }: CreatedContainer,
  { volumes, networks }: ProjectResources,
): boolean {
  const attached = Object.keys(NetworkSettings.Networks ?? {});
  return (Mounts ?? []).some(({ Name = '' }) => volumes.includes(Name)) || attached.some((n) => networks.includes(n));
}
