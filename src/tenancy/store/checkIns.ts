import { hostStates } from '../../../machines/backend.ts';
import type { BackendRow } from './database.ts';
import type { Store } from './openStore.ts';

/** A page of the newest check-ins of an env's hosts that are to run its bundles, by id of the backend. */
export async function listCheckIns(
  store: Store,
  { env, after, limit }: { env: string; after: string | null; limit: number },
): Promise<Pick<BackendRow, 'id' | 'check_in'>[]> {
  let query = store
    .selectFrom('backends')
    .select(['id', 'check_in'])
    .where('env', '=', env)
    .where('state', 'in', hostStates)
    .orderBy('id')
    .limit(limit);
  if (after !== null) query = query.where('id', '>', after);
  return query.execute();
}
