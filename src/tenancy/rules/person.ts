import type { GroupRole } from '../config/settings.ts';
import type { Permission } from './permission.ts';

/** Claims of an OpenID provider about a person. */
export type PersonClaims = Readonly<Record<string, unknown>>;

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
