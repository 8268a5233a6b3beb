import { describeResources, hasNoResources, commonResources, type ProjectResources } from './projectResources.ts';

/** Resources that a `down` could not remove, and the time of the first try (spec §7.5). */
export interface PendingPurge extends ProjectResources {
  since: string;
}

const maxPendingH = 24;

/** The time at which the purge is given up. */
export function purgeDeadline({ since }: PendingPurge): Date {
  return new Date(Date.parse(since) + maxPendingH * 3_600_000);
}

/** Start of the pending purge; `now` when the recorded time is in the future, because the clock was set back. */
export function pendingSince({ since }: PendingPurge, now: Date): string {
  return Date.parse(since) > now.getTime() ? now.toISOString() : since;
}

/** The pending purge after a `down`, null for none. Resources that were pending before keep their start time. */
export function pendingPurgeOf(
  remaining: ProjectResources,
  before: PendingPurge | null,
  now: Date,
): PendingPurge | null {
  if (hasNoResources(remaining)) return null;
  const wasPending = before !== null && !hasNoResources(commonResources(remaining, before));
  return { ...remaining, since: wasPending ? pendingSince(before, now) : now.toISOString() };
}

/** The journal line of the resources that remain, with the names of the containers that use them. */
export function formatPendingPurge(
  remaining: ProjectResources,
  resourceUsers: readonly ({ name: string } & Record<keyof ProjectResources, readonly string[]>)[],
): string {
  const using = (kind: keyof ProjectResources, name: string) => {
    const users = resourceUsers.filter((user) => user[kind].includes(name));
    return users.length === 0 ? '' : ` (used by ${users.map((user) => user.name).join(', ')})`;
  };
  return `down: in use outside the project, so not removed yet: ${describeResources(remaining, using)}; tried again for ${maxPendingH} h`;
}

/** The journal lines at the end of a pending purge. */
export const purgeMessages = {
  removed: (removed: ProjectResources) => `down: removed at last: ${describeResources(removed)}`,
  dropped: (why: string, remaining: ProjectResources) =>
    `down: not removed any more, as ${why}: ${describeResources(remaining)}`,
  givenUp: (remaining: ProjectResources) =>
    `down: not removed within ${maxPendingH} h, so left to be removed by hand: ${describeResources(remaining)}`,
};
