/**
 * Times of a session in milliseconds since 1970: its start, its last use, and the last check of its groups at the
 * provider.
 */
export interface SessionTimes {
  created_at: number;
  last_used_at: number;
  checked_at: number;
}

/** The limits of sessions, in seconds. */
interface SessionLimits {
  readonly idle_s: number;
  readonly lifetime_s: number;
  readonly recheck_s: number;
}

/** Milliseconds for which other instances use the known groups while one queries the provider. */
export const RECHECK_GRACE_MS = 30_000;

/** The times of start or last use up to which a session is over. */
export function sessionsOverBefore({ idle_s, lifetime_s }: SessionLimits, now: number) {
  return { created: now - lifetime_s * 1000, used: now - idle_s * 1000 };
}

/** True if a session was idle for too long or exceeded its lifetime; also if a clock went back by that much. */
export function isSessionOver(times: SessionTimes, { idle_s, lifetime_s }: SessionLimits, now: number): boolean {
  const age = Math.abs(now - times.created_at);
  return age >= lifetime_s * 1000 || Math.abs(now - times.last_used_at) >= idle_s * 1000;
}

/** Whether the groups are current, should be checked, or are too old to be used, as after a clock went back. */
export function groupsAge({ checked_at }: SessionTimes, { recheck_s }: SessionLimits, now: number) {
  const age = now - checked_at;
  const limit = recheck_s * 1000;
  if (Math.abs(age) < limit) return 'known';
  return age >= limit && age < limit + RECHECK_GRACE_MS ? 'due' : 'unusable';
}
