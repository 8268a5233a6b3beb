import type { DesiredState } from '../../../../machines/types.ts';
import {
  resourcesWithout,
  hasNoResources,
  noResources,
  commonResources,
  type ProjectResources,
} from '../../rules/release/projectResources.ts';
import {
  pendingSince,
  purgeDeadline,
  formatPendingPurge,
  pendingPurgeOf,
  purgeMessages,
} from '../../rules/release/pendingPurge.ts';
import { isProduction } from './production.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * After compose down, which silently skips resources in use: records and logs the resources that should have been removed;
 * volumes only with `volumes` (spec §7.5).
 */
export async function recordPendingPurge(deps: Dependencies, volumes: boolean): Promise<void> {
  const { containers, state, tick } = deps;
  const existing = await containers.ownedResources();
  const remaining = { ...existing, volumes: volumes ? existing.volumes : [] };
  const pending = state.state.purge_pending ?? null;
  const before = pending ?? noResources;
  const purge_pending = pendingPurgeOf(remaining, pending, new Date());
  if (purge_pending !== null || pending !== null) await state.update({ purge_pending });
  logRemoved(deps, resourcesWithout(before, existing));
  const kept = resourcesWithout(commonResources(before, existing), remaining);
  if (!hasNoResources(kept)) tick.journal.warn(purgeMessages.dropped('this down keeps the volumes', kept));
  if (purge_pending === null) return;
  const line = formatPendingPurge(remaining, await containers.resourceUsers());
  tick.journal.warn(line);
  tick.remarks.push(line);
}

/** Retries the pending purge. Works without a desired state, since the token may have been revoked by the down. */
export async function retryPurge(deps: Dependencies, desired: DesiredState | null): Promise<void> {
  const { containers, settings, state, tick } = deps;
  const pending = state.state.purge_pending ?? null;
  if (pending === null) return;
  const { applied_at } = state.state;
  if (pending.volumes.length > 0 && settings.policy.deny.includes('purge'))
    return cancelPurge(deps, 'policy.deny of this host names purge');
  if (applied_at !== null && Date.parse(applied_at) > Date.parse(pending.since))
    return cancelPurge(deps, 'a bundle is applied');
  if (pending.volumes.length > 0 && (await isProduction(deps, state.state, desired?.production === true)) !== false)
    return cancelPurge(deps, 'it is not known to be no production env');
  const existing = commonResources(pending, await containers.ownedResources());
  const now = new Date();
  const isLate = purgeDeadline(pending) < now;
  await containers.removeOwnedResources(existing);
  const remaining = commonResources(existing, await containers.ownedResources());
  const isOver = isLate || hasNoResources(remaining);
  await state.update({ purge_pending: isOver ? null : { ...remaining, since: pendingSince(pending, now) } });
  logRemoved(deps, resourcesWithout(pending, remaining));
  if (isLate && !hasNoResources(remaining)) tick.journal.warn(purgeMessages.givenUp(remaining));
}

/** Cancels the pending purge; the resources stay. */
export async function cancelPurge({ state, tick }: Dependencies, why: string): Promise<void> {
  const pending = state.state.purge_pending ?? null;
  if (pending === null) return;
  await state.update({ purge_pending: null });
  tick.journal.warn(purgeMessages.dropped(why, pending));
}

function logRemoved({ tick }: Dependencies, removed: ProjectResources): void {
  if (!hasNoResources(removed)) tick.journal.info(purgeMessages.removed(removed));
}
