import type { Role } from '../store/database.ts';

/** What a token may do. */
export interface Permission {
  readonly role: Role;
  /** The envs it is limited to; null for all. */
  readonly envs: readonly string[] | null;
}

/** What a call needs: a role at least, and one env, any env (null), or a token that is limited to none (`every`). */
export interface Need {
  readonly role: Role;
  readonly env: string | null | { readonly every: true };
}

const roles: readonly Role[] = ['viewer', 'deployer', 'admin'];

/** Why a token does not permit a call; null if it does. */
export function forbiddenReason({ role, envs }: Permission, need: Need): string | null {
  if (roles.indexOf(role) < roles.indexOf(need.role)) return `the role ${need.role} is needed, the token has ${role}`;
  if (envs === null || need.env === null) return null;
  if (typeof need.env === 'object') return 'a token that is limited to some envs does not permit this';
  return envs.includes(need.env) ? null : `the token is not for the env ${need.env}`;
}
