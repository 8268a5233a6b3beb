import type { GroupRole } from '../config/configKeys.ts';
import type { Permission } from '../core/permission.rules.ts';
import type { PersonClaims } from '../peers/identityProvider.ts';

/** The groups of a person; null if the claim is there and no list of texts. */
export function groupsOf(claims: PersonClaims, claim: string): string[] | null {
  const groups = claims[claim] ?? [];
  return Array.isArray(groups) && groups.every((group) => typeof group === 'string') ? groups : null;
}

/** The groups that the configuration gives a role. */
export function knownGroups(groups: readonly string[], roles: readonly GroupRole[]): string[] {
  const member = new Set(groups);
  return [...new Set(roles.map(({ group }) => group))].filter((group) => member.has(group));
}

/** What members of some groups may do. */
export function permissionsOfGroups(groups: readonly string[], roles: readonly GroupRole[]): Permission[] {
  return roles.filter(({ group }) => groups.includes(group)).map(({ role, envs = null }) => ({ role, envs }));
}

/** How people call a person, in one line; the subject where the claim does not tell, or an address that nobody has verified. */
export function nameOf(claims: PersonClaims, claim: string): string {
  const name = claims[claim];
  const isUsable = typeof name === 'string' && /^[^\p{C}\p{Z}](?:[^\p{C}]{0,126}[^\p{C}\p{Z}])?$/u.test(name);
  const isUnverified = claim === 'email' && String(claims['email_verified']) === 'false';
  return isUsable && !isUnverified ? name : String(claims['sub']);
}

/** When a session began, was last used, and its groups were last told by the provider: milliseconds since 1970. */
export interface SessionTimes {
  created_at: number;
  last_used_at: number;
  checked_at: number;
}

/** The settings of sessions, in seconds. */
interface SessionLimits {
  readonly idle_s: number;
  readonly lifetime_s: number;
  readonly recheck_s: number;
}

/** Milliseconds for which others use what is known while one asks the provider. */
export const RECHECK_GRACE_MS = 30_000;

/** The times at or before which a session must have begun or been used to be over. */
export function sessionsOverBefore({ idle_s, lifetime_s }: SessionLimits, now: number) {
  return { created: now - lifetime_s * 1000, used: now - idle_s * 1000 };
}

/** True once a session was idle for too long, or lasted too long; also once a clock went back by that. */
export function isSessionOver(times: SessionTimes, { idle_s, lifetime_s }: SessionLimits, now: number): boolean {
  const age = Math.abs(now - times.created_at);
  return age >= lifetime_s * 1000 || Math.abs(now - times.last_used_at) >= idle_s * 1000;
}

/** Whether the groups are known, are to be asked for, or are too old to be used by anybody, as after a clock went back. */
export function groupsAge({ checked_at }: SessionTimes, { recheck_s }: SessionLimits, now: number) {
  const age = now - checked_at;
  const limit = recheck_s * 1000;
  if (Math.abs(age) < limit) return 'known';
  return age >= limit && age < limit + RECHECK_GRACE_MS ? 'due' : 'unusable';
}
