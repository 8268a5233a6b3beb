import { nextBackend } from '../../../machines/backend.ts';
import { columnsOf, recordOf, type LifeColumns } from './backends.ts';
import type { BackendRow } from './database.ts';
import type { Store } from './openStore.ts';

/** A backend as its own calls need it: its life, what is desired in its env, and the size of that bundle. */
export interface AgentRow extends LifeColumns, Pick<BackendRow, 'id' | 'revision' | 'env'> {
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
    .select(['envs.production', 'desired_sha', 'bundles.size_bytes as desired_size'])
    .where('backends.id', '=', id)
    .executeTakeFirst();
  return row ?? null;
}

/** What a check-in changes of a backend's row, beside its state. */
export type CheckInColumns = Pick<BackendRow, 'last_seen_at' | 'check_in' | 'token_accessor' | 'token_generation'> & {
  last_seen_at: number;
};

/**
 * Keeps a check-in of a backend as it was read, in one statement. False if the backend has changed since, or its state
 * does not allow a check-in: read it again.
 */
export async function keepCheckIn(store: Store, read: AgentRow, columns: CheckInColumns): Promise<boolean> {
  const next = nextBackend(recordOf(read), { type: 'CHECK_IN' });
  if (next === null) return false;
  const since = next.state === read.state ? {} : { state_since: columns.last_seen_at };
  const update = store
    .updateTable('backends')
    .set({ ...columns, ...columnsOf(next), ...since, revision: read.revision + 1 })
    .where('id', '=', read.id)
    .where('revision', '=', read.revision);
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** Keeps when a heartbeat came. */
export async function keepHeartbeat(store: Store, id: string, now: number): Promise<void> {
  await store.updateTable('backends').set({ last_seen_at: now }).where('id', '=', id).execute();
}
