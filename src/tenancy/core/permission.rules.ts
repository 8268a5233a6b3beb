import type { GroupRole } from '../config/configKeys.ts';
import type { Role, SessionOwner } from '../store/database.ts';
import { ApiError, notFound, type Thing } from './apiError.rules.ts';

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
interface Need {
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

/** The caller of the operators' API. */
export interface Operator {
  readonly id: string;
  readonly name: string;
  /** A call is allowed if any one of them allows it. */
  readonly permissions: readonly Permission[];
  /** Also those whose role does not suffice for the call; by default the same. */
  readonly everyPermission?: readonly Permission[];
  /** Session in a browser; a token in a header has none. */
  readonly session?: SessionOwner & { readonly id: string };
}

/** Issuer of sessions that were created with an operator's token. Issuers of providers are URLs. */
export const tokenIssuer = 'token';

/** The owner of a caller's sessions: its own session, or its token. */
export function sessionOwner({ id, session }: Operator): SessionOwner {
  return session ?? { issuer: tokenIssuer, subject: id };
}

/** The caller of an action, for the audit log. */
export interface AuditCaller {
  readonly actor: string;
  /** Such as `backend.retire`. */
  readonly act: string;
  readonly address: string | null;
  readonly requestId: string | null;
}

/** A refused action, for the audit log. */
export interface RefusedAct extends AuditCaller {
  readonly target: string;
  readonly env: string | null;
  /** The code of the error. */
  readonly result: string;
}

/** A call before it is run. */
export interface CallUse {
  /** Method and route, such as `GET /v1/envs/:env`. */
  call: string;
  address: string;
  requestId: string;
}

/** A call with a token, before it is run. */
export interface TokenUse extends CallUse {
  bearer: string;
}

/**
 * Throws unless a caller has a permission that covers the need. For an object of an environment in which the caller has
 * no role at all, throws the same 404 as for a missing object (by default the environment; null if the answer shows
 * nothing), which the audit log records as `FORBIDDEN`. Otherwise throws 403 `FORBIDDEN`.
 */
export function requirePermission(
  { permissions, everyPermission = permissions }: Pick<Operator, 'permissions' | 'everyPermission'>,
  need: Need,
  thing: Thing | null = 'env',
): void {
  const reason = forbiddenReason(permissions, need);
  if (reason === null) return;
  const env = typeof need.env === 'string' ? { env: need.env } : {};
  const isHidden = thing !== null && forbiddenReason(everyPermission, { role: 'viewer', env: need.env }) !== null;
  // All callers know that there are objects of all environments, but not which.
  if (isHidden && (thing !== 'env' || typeof need.env === 'string'))
    throw new ApiError({ ...notFound(thing).fields, ...env, auditCode: 'FORBIDDEN' });
  throw new ApiError({ status: 403, code: 'FORBIDDEN', message: reason, ...env });
}
