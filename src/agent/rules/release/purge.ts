import { describeOwned, isNothing, within, type Owned } from './owned.ts';

/** What a `down` could not remove, and when one tried first (spec §7.5). */
export interface PurgePending extends Owned {
  since: string;
}

const patienceH = 24;

/** When what is pending is given up. */
export function purgeEnds({ since }: PurgePending): Date {
  return new Date(Date.parse(since) + patienceH * 3_600_000);
}

/** Since when it is pending: not since what is yet to come, where the clock was set back. */
export function pendingSince({ since }: PurgePending, now: Date): string {
  return Date.parse(since) > now.getTime() ? now.toISOString() : since;
}

/** What is pending after a `down`, null for nothing: it gives what was pending before no more time. */
export function purgeOf(left: Owned, before: PurgePending | null, now: Date): PurgePending | null {
  if (isNothing(left)) return null;
  const isKnown = before !== null && !isNothing(within(left, before));
  return { ...left, since: isKnown ? pendingSince(before, now) : now.toISOString() };
}

/** The line of what remains, with the names of the containers that use it. */
export function purgeLeft(
  left: Owned,
  holders: readonly ({ name: string } & Record<keyof Owned, readonly string[]>)[],
): string {
  const using = (kind: keyof Owned, name: string) => {
    const users = holders.filter((holder) => holder[kind].includes(name));
    return users.length === 0 ? '' : ` (used by ${users.map((user) => user.name).join(', ')})`;
  };
  return `down: in use outside the project, so not removed yet: ${describeOwned(left, using)}; tried again for ${patienceH} h`;
}

/** The lines of what became of it. */
export const purgeTold = {
  removed: (gone: Owned) => `down: removed at last: ${describeOwned(gone)}`,
  dropped: (why: string, left: Owned) => `down: not removed any more, as ${why}: ${describeOwned(left)}`,
  givenUp: (left: Owned) =>
    `down: not removed within ${patienceH} h, so left to be removed by hand: ${describeOwned(left)}`,
};
