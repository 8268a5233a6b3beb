import type { SigningKeyRow } from '../store/database.ts';
import { KeyError } from './keyError.ts';

const MINUTE_MS = 60_000;
/** A new key is published for so long before it signs: longer than instances and secretstore keep the old list. */
export const PUBLISHED_AHEAD_MS = 10 * MINUTE_MS;
/** The longest life of anything that is signed: a grant. */
export const LONGEST_LIFE_MS = 24 * 60 * MINUTE_MS;

type KeyTime = Pick<SigningKeyRow, 'kid' | 'active_from'>;

/**
 * The key that signs: the one that became active last; of several that are still to become active, as after the clock was
 * set back, the first. Throws KeyError without a key.
 */
export function signingKey<Key extends KeyTime>(keys: Key[], now: number): Key {
  const ordered = keys.toSorted(byTime);
  const signing = ordered.findLast(({ active_from }) => active_from <= now) ?? ordered[0];
  if (signing === undefined) throw new KeyError('there is no signing key: run `deployd-tenancy init`');
  return signing;
}

/** Ids of keys that another one has followed for longer than anything signed by them lives. */
export function expiredKeys(keys: KeyTime[], now: number): string[] {
  const ordered = keys.toSorted(byTime);
  return ordered
    .filter((_, index) => {
      const next = ordered[index + 1];
      return next !== undefined && next.active_from + LONGEST_LIFE_MS < now;
    })
    .map(({ kid }) => kid);
}

function byTime(one: KeyTime, other: KeyTime): number {
  return one.active_from - other.active_from;
}
