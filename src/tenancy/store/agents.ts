import { nextBackend } from '../../../machines/backend.ts';
import type { CheckInRequest } from '../../protocol/checkIn.ts';
import { columnsOf, recordOf, type LifeColumns } from './backends.ts';
import type { BackendRow } from './database.ts';
import type { Store } from './openStore.ts';

/** A backend as its own calls need it: its life, what is desired in its env, and the size of that bundle. */
export interface AgentRow extends LifeColumns, Pick<BackendRow, 'id' | 'revision' | 'env' | 'oldest_generation'> {
  production: number;
  desired_sha: string | null;
  /** Bytes; null if there is no such bundle. */
  desired_size: number | null;
}

/** Reads a backend for one of its calls; null if there is none. */
export async function findAgent(store: Store, id: string): Promise<AgentRow | null> {
  const row = await store
    .selectFrom('backends')
    .innerJoin('envs', 'envs.name', 'backends.env')
    .leftJoin('bundles', 'bundles.sha256', 'envs.desired_sha')
    .select(['backends.id', 'revision', 'backends.env', 'state', 'generation', 'purge_volumes', 'finished'])
    .select(['oldest_generation', 'envs.production', 'desired_sha', 'bundles.size_bytes as desired_size'])
    .where('backends.id', '=', id)
    .executeTakeFirst();
  return row ?? null;
}

/** What a check-in tells, and the token that it came with. */
export interface CheckInFacts {
  checkIn: CheckInRequest;
  token: { accessor: string; generation: number };
  now: number;
}

/**
 * Keeps a check-in of a backend as it was read, in one statement. False if the backend has changed since, or its state
 * does not allow a check-in: read it again.
 */
export async function recordCheckIn(
  store: Store,
  read: AgentRow,
  { checkIn, token, now }: CheckInFacts,
): Promise<boolean> {
  const next = nextBackend(recordOf(read), { type: 'CHECK_IN' });
  if (next === null) return false;
  const facts = { last_seen_at: now, check_in: JSON.stringify(checkIn), applied_sha: checkIn.applied_sha };
  const origin = { token_accessor: token.accessor, token_generation: token.generation };
  const since = next.state === read.state ? {} : { state_since: now };
  const update = store
    .updateTable('backends')
    .set({ ...facts, ...origin, ...columnsOf(next), ...since, revision: read.revision + 1 })
    .where('id', '=', read.id)
    .where('revision', '=', read.revision);
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}
