import type { Role } from '../store/database.ts';

/** A role for some envs. */
export interface Permission {
  readonly role: Role;
  /** The envs it is limited to; null for all. */
  readonly envs: readonly string[] | null;
}

/** What a call needs: a role at least, and one env, any env (null), or a role that is limited to none (`every`). */
export interface Need {
  readonly role: Role;
  readonly env: string | null | { readonly every: true };
}

const roles: readonly Role[] = ['viewer', 'deployer', 'admin'];

/** Why none of a caller's permissions permits a call, as the first one tells it; null if one does. */
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

/** The envs that permissions are for; null for all. */
export function visibleEnvs(permissions: readonly Permission[]): readonly string[] | null {
  const lists = permissions.map(({ envs }) => envs);
  return lists.every((envs) => envs !== null) ? [...new Set(lists.flat())] : null;
}

/** The role that a caller has in every one of the visible envs at least. */
export function leastRole(permissions: readonly Permission[]): Role {
  const seen = visibleEnvs(permissions) ?? [{ every: true } as const];
  const holds = (role: Role) => seen.every((env) => forbiddenReason(permissions, { role, env }) === null);
  return roles.findLast(holds) ?? 'viewer';
}

function reasonAgainst({ role, envs }: Permission, need: Need): string | null {
  if (roles.indexOf(role) < roles.indexOf(need.role)) return `the role ${need.role} is needed, yours is ${role}`;
  if (envs === null || need.env === null) return null;
  if (typeof need.env === 'object') return 'a role that is limited to some envs does not permit this';
  return envs.includes(need.env) ? null : `your role is not for the env ${need.env}`;
}
