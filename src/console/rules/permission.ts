import type { Caller, Role } from '../api/types.ts';

const roles: readonly Role[] = ['viewer', 'deployer', 'admin'];

/** Whether a caller has a role in an env; in all of them for null. The service decides again at each call. */
export function may({ permissions }: Pick<Caller, 'permissions'>, role: Role, env: string | null): boolean {
  return permissions.some(
    (each) =>
      roles.indexOf(each.role) >= roles.indexOf(role) &&
      (each.envs === null || (env !== null && each.envs.includes(env))),
  );
}
