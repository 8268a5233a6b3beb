import type { BackendState } from '../../../machines/backend.ts';
import { maxSequence } from '../../api/checkIn.rules.ts';
import type { BundleTrust } from '../../signatures/trust.ts';
import type { EnvRow } from './database.ts';
import { inTransaction, type Store } from './openStore.ts';
import { deleteWebhooksOf } from './webhooks.ts';

/**
 * Creates an environment; returns false if the name is in use. A deleted one of that name continues with its sequences.
 */
export async function createEnv(store: Store, name: string, production: boolean): Promise<boolean> {
  const values = { production: Number(production), desired_sha: null, deleted_at: null };
  const insert = store
    .insertInto('envs')
    .values({ name, ...values, last_sequence: 0, pushed_sequence: null })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(values).where('envs.deleted_at', 'is not', null));
  return (await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 1n;
}

/** The row of an environment; null if there is none. */
export async function findEnv(store: Store, name: string): Promise<EnvRow | null> {
  const query = store.selectFrom('envs').selectAll().where('name', '=', name).where('deleted_at', 'is', null);
  return (await query.executeTakeFirst()) ?? null;
}

/** Environments by name; null for all of them. */
export function listEnvs(store: Store, names: readonly string[] | null): Promise<EnvRow[]> {
  const query = store.selectFrom('envs').selectAll().where('deleted_at', 'is', null).orderBy('name');
  return (names === null ? query : query.where('name', 'in', names)).execute();
}

/** Locks the row of an environment until the transaction ends; returns null if there is none. */
export async function lockEnv(work: Store, name: string): Promise<EnvRow | null> {
  const row = await lockEnvRow(work, name);
  return row?.deleted_at === null ? row : null;
}

/** Like `lockEnv`, also for a deleted environment. */
export async function lockEnvRow(work: Store, name: string): Promise<EnvRow | null> {
  // SQLite has no `for update`.
  const update = work.updateTable('envs').set((set) => ({ last_sequence: set.ref('last_sequence') }));
  return (await update.where('name', '=', name).returningAll().executeTakeFirst()) ?? null;
}

/** Makes another bundle, or none, the desired one of an environment. */
export async function setDesiredSha(work: Store, name: string, sha256: string | null): Promise<void> {
  await work.updateTable('envs').set({ desired_sha: sha256 }).where('name', '=', name).execute();
  if (sha256 === null) return;
  await work.updateTable('bundles').set({ replaces: null }).where('sha256', '=', sha256).execute();
}

/** Stores the number of the CI pipeline that promotes a bundle. */
export async function setPipeline(work: Store, name: string, pipeline: number): Promise<void> {
  await work.updateTable('envs').set({ pipeline }).where('name', '=', name).execute();
}

/** Marks an environment as deleted; its sequences remain. */
export async function markEnvDeleted(work: Store, name: string, now: number): Promise<void> {
  await setBundleTrust(work, name, null);
  await deleteWebhooksOf(work, name);
  await work
    .updateTable('envs')
    .set({ desired_sha: null, pipeline: null, deleted_at: now })
    .where('name', '=', name)
    .execute();
}

/**
 * Reserves the next sequence for a bundle of an environment, never the same one twice; null if the environment does not
 * exist or has had the largest sequence.
 */
export async function reserveSequence(store: Store, name: string): Promise<number | null> {
  const update = (work: Store) =>
    work
      .updateTable('envs')
      .set(({ eb }) => ({ last_sequence: eb('last_sequence', '+', 1) }))
      .where('name', '=', name)
      .where('deleted_at', 'is', null)
      .where('last_sequence', '<', maxSequence)
      .returning('last_sequence')
      .executeTakeFirst();
  return (await inTransaction(store, update))?.last_sequence ?? null;
}

/** Number of backends of an environment in a state. */
export interface BackendCount {
  env: string;
  state: BackendState;
  backends: number;
}

/** Counts the backends of environments by state; null for all environments. */
export async function countBackends(store: Store, envs: readonly string[] | null): Promise<BackendCount[]> {
  const query = store
    .selectFrom('backends')
    .select(({ fn }) => ['env', 'state', fn.countAll<number>().as('backends')])
    .groupBy(['env', 'state']);
  return (envs === null ? query : query.where('env', 'in', envs)).execute();
}

/** Stores the signers that the hosts of an environment trust; null if they require no signature. */
export async function setBundleTrust(work: Store, env: string, trust: BundleTrust | null): Promise<void> {
  await work.deleteFrom('bundle_trusts').where('env', '=', env).execute();
  if (trust === null) return;
  const row = { env, threshold: trust.threshold, trust: JSON.stringify(trust) };
  await work.insertInto('bundle_trusts').values(row).execute();
}

/** The signers that the hosts of an environment trust; null if they require no signature. */
export async function findBundleTrust(store: Store, env: string): Promise<BundleTrust | null> {
  const row = await store.selectFrom('bundle_trusts').select('trust').where('env', '=', env).executeTakeFirst();
  return row === undefined ? null : (JSON.parse(row.trust) as BundleTrust);
}

/** The trusted signers of environments, of all (null) or of some; environments that require none are omitted. */
export async function findBundleTrusts(
  store: Store,
  envs: readonly string[] | null,
): Promise<Map<string, BundleTrust>> {
  const query = store.selectFrom('bundle_trusts').select(['env', 'trust']);
  const rows = await (envs === null ? query : query.where('env', 'in', [...envs, ''])).execute();
  return new Map(rows.map(({ env, trust }) => [env, JSON.parse(trust) as BundleTrust]));
}

/**
 * Number of distinct signers that the hosts of some environments require; environments that require none are omitted.
 */
export async function findThresholds(store: Store, envs: readonly string[]): Promise<Map<string, number>> {
  if (envs.length === 0) return new Map();
  const query = store.selectFrom('bundle_trusts').select(['env', 'threshold']).where('env', 'in', envs);
  return new Map((await query.execute()).map(({ env, threshold }) => [env, threshold]));
}

/** Raises the sequences of every environment, so that sequences assigned after a backup are never reused. */
export async function skipSequences(work: Store, gap: number): Promise<void> {
  await work
    .updateTable('envs')
    .set(({ eb }) => ({ last_sequence: eb('last_sequence', '+', gap) }))
    .where('last_sequence', '<=', Number.MAX_SAFE_INTEGER - gap)
    .execute();
}
