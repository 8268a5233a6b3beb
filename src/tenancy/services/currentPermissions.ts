import type { Permission } from '../rules/permission.ts';
import { envsOf, findOperatorById } from '../store/operators.ts';
import { findSessionById } from '../store/sessions.ts';
import type { Dependencies } from './dependencies.ts';
import type { Operator } from './operator.ts';
import { personOf } from './sessions/authenticateSession.ts';

/**
 * What a caller is permitted now, for a call that lasts; null once its token or session is over. This is no use of either. Throws
 * as `authenticateSession`.
 */
export async function currentPermissions(
  deps: Dependencies,
  { id, session }: Operator,
): Promise<readonly Permission[] | null> {
  if (session === undefined) {
    const row = await findOperatorById(deps.store, id, deps.clock());
    return row && [{ role: row.role, envs: envsOf(row.envs) }];
  }
  const person = await personOf(deps, await findSessionById(deps.store, id));
  return person && person.permissions;
}
