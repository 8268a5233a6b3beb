import type { Role } from '../store/database.ts';
import type { GroupRole } from '../config/configKeys.ts';

/** A role in some environments. */
export interface Permission {
  readonly role: Role;
  /** The environments to which it is limited; null for all. */
  readonly envs: readonly string[] | null;
}

/**
 * The permission that a call needs: at least this role, in one environment, in any (null), or without a limit to some
 * (`every`).
 */
export interface Need {
  readonly role: Role;
  readonly env: string | null | { readonly every: true };
}

const roles: readonly Role[] = ['viewer', 'deployer', 'admin'];

/** The reason why none of a caller's permissions allows a call, from the first one; null if one allows it. */
export function forbiddenReason(permissions: readonly Permission[], need: Need): string | null {
  const reasons = permissions.map((permission) => reasonAgainst(permission, need));
  return reasons.includes(null)
    ? null
    : (reasons[0] ?? `this requires the role ${need.role}, and the caller has no role`);
}

/** The permissions that include a role. */
export function permissionsWith(permissions: readonly Permission[], role: Role): Permission[] {
  return permissions.filter((permission) => roles.indexOf(permission.role) >= roles.indexOf(role));
}

/** The environments of the permissions; null for all. */
export function visibleEnvs(permissions: readonly Permission[]): readonly string[] | null {
  const lists = permissions.map(({ envs }) => envs);
  return lists.every((envs) => envs !== null) ? [...new Set(lists.flat())] : null;
}

/** The role that a caller has at least in every visible environment. */
export function leastRole(permissions: readonly Permission[]): Role {
  const seen = visibleEnvs(permissions) ?? [{ every: true } as const];
  const holds = (role: Role) => seen.every((env) => forbiddenReason(permissions, { role, env }) === null);
  return roles.findLast(holds) ?? 'viewer';
}

function reasonAgainst({ role, envs }: Permission, need: Need): string | null {
  if (roles.indexOf(role) < roles.indexOf(need.role)) return `the role ${need.role} is needed, yours is ${role}`;
  if (envs === null || need.env === null) return null;
  if (typeof need.env === 'object') return 'a role that is limited to some environments does not permit this';
  return envs.includes(need.env) ? null : `your role does not cover environment ${need.env}`;
}

/** The groups to which the configuration gives a role. */
export function knownGroups(groups: readonly string[], roles: readonly GroupRole[]): string[] {
  const member = new Set(groups);
  return [...new Set(roles.map(({ group }) => group))].filter((group) => member.has(group));
}

/** The permissions of members of some groups. */
export function permissionsOfGroups(groups: readonly string[], roles: readonly GroupRole[]): Permission[] {
  return roles.filter(({ group }) => groups.includes(group)).map(({ role, envs = null }) => ({ role, envs }));
}
