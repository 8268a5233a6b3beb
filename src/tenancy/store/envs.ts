import { type BackendState, remainingStates } from '../../../machines/backend.ts';
import { maxSequence } from '../../api/checkIn.rules.ts';
import { changeBackend } from './backends.ts';
import type { EnvRow, RecordedSettings, SecretsChoice } from './database.ts';
import { inTransaction, type Store } from './openStore.ts';
import { addPendingSteps, cancelStep } from './pendingSteps.ts';
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

/**
 * Makes another bundle, or none, the desired one of an environment, promoted at a time. The one before becomes the
 * previous one, unless the new one is a copy of it.
 */
export async function setDesiredSha(
  work: Store,
  name: string,
  sha256: string | null,
  { since, isCopy = false }: { since: number; isCopy?: boolean },
): Promise<void> {
  const before = (await findEnv(work, name))?.desired_sha ?? null;
  const replaced =
    sha256 === null
      ? undefined
      : await work.selectFrom('bundles').select('replaces').where('sha256', '=', sha256).executeTakeFirst();
  const isSame = isCopy || before === null || before === sha256 || replaced?.replaces === before;
  const previous = isSame ? {} : { previous_sha: before };
  await work
    .updateTable('envs')
    .set({ desired_sha: sha256, desired_since: sha256 === null ? null : since, ...previous })
    .where('name', '=', name)
    .execute();
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
    .set({
      desired_sha: null,
      desired_since: null,
      previous_sha: null,
      pipeline: null,
      held_since: null,
      ...undecided,
      deleted_at: now,
    })
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
export async function setBundleTrust(work: Store, env: string, trust: RecordedSettings | null): Promise<void> {
  await work.deleteFrom('bundle_trusts').where('env', '=', env).execute();
  if (trust === null) return;
  const row = { env, threshold: trust.threshold, trust: JSON.stringify(trust) };
  await work.insertInto('bundle_trusts').values(row).execute();
}

/** The signers that the hosts of an environment trust; null if they require no signature. */
export async function findBundleTrust(store: Store, env: string): Promise<RecordedSettings | null> {
  const row = await store.selectFrom('bundle_trusts').select('trust').where('env', '=', env).executeTakeFirst();
  return row === undefined ? null : (JSON.parse(row.trust) as RecordedSettings);
}

/** The trusted signers of environments, of all (null) or of some; environments that require none are omitted. */
export async function findBundleTrusts(
  store: Store,
  envs: readonly string[] | null,
): Promise<Map<string, RecordedSettings>> {
  const query = store.selectFrom('bundle_trusts').select(['env', 'trust']);
  const rows = await (envs === null ? query : query.where('env', 'in', [...envs, ''])).execute();
  return new Map(rows.map(({ env, trust }) => [env, JSON.parse(trust) as RecordedSettings]));
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
    .where('last_sequence', '<=', maxSequence - gap)
    .execute();
}

/** The secrets of an environment that is in use, or whose secrets were destroyed or kept. */
const undecided = { secrets_choice: null, secrets_destroy_at: null };

/** True if an environment has a backend that is neither finishing nor retired. */
export function hasOtherBackends(store: Store, env: string): Promise<boolean> {
  return hasBackends(store, env, [...remainingStates, 'retiring']);
}

/** True if an environment has a backend that is not being retired. */
export function hasRemainingBackends(store: Store, env: string): Promise<boolean> {
  return hasBackends(store, env, remainingStates);
}

async function hasBackends(store: Store, env: string, states: readonly BackendState[]): Promise<boolean> {
  const query = store.selectFrom('backends').select('id').where('env', '=', env).where('state', 'in', states);
  return (await query.limit(1).executeTakeFirst()) !== undefined;
}

/** Ids of the finishing backends of an environment whose retirement has not dealt with its secrets yet. */
async function findSecretsHolders(store: Store, env: string): Promise<string[]> {
  const query = store.selectFrom('backends').select('id').where('env', '=', env).where('state', '=', 'finishing');
  return (await query.where('finished', 'not like', '%destroySecrets%').orderBy('id').execute()).map(({ id }) => id);
}

/**
 * How the secrets of an environment end: `destroying` if their destruction has begun, `doomed` if they will be destroyed
 * unless an operator keeps them; null if nothing will destroy them.
 */
export async function findSecretsEnd(store: Store, env: string): Promise<'destroying' | 'doomed' | null> {
  const deletion = store.selectFrom('pending_steps').select('step').where('subject', '=', env);
  if (await deletion.where('step', '=', 'destroyEnvSecrets').executeTakeFirst()) return 'destroying';
  const row = await findEnv(store, env);
  if (row === null || row.secrets_choice === 'keep' || (await hasOtherBackends(store, env))) return null;
  if ((await findSecretsHolders(store, env)).length === 0) return null;
  return row.secrets_choice === 'destroy' ? 'destroying' : 'doomed';
}

/** Environments whose secrets will be destroyed at or before a time. */
export async function findEndedGraces(store: Store, now: number): Promise<string[]> {
  const query = store.selectFrom('envs').select('name').where('deleted_at', 'is', null);
  return (await query.where('secrets_destroy_at', '<=', now).orderBy('name').execute()).map(({ name }) => name);
}

/** Sets when the secrets of a locked environment will be destroyed, unless that is set. Returns the time. */
export async function doomSecrets(work: Store, { name, secrets_destroy_at }: EnvRow, at: number): Promise<number> {
  if (secrets_destroy_at !== null) return secrets_destroy_at;
  await work.updateTable('envs').set({ secrets_destroy_at: at }).where('name', '=', name).execute();
  return at;
}

/**
 * Stores the choice for the secrets of a locked environment that has no remaining hosts. `destroy` makes the step of
 * backends that wait for it due; all other choices end it. Null clears the choice, because the environment is in use.
 */
export async function chooseSecrets(
  work: Store,
  { name, secrets_choice: before }: EnvRow,
  { choice, now }: { choice: SecretsChoice | null; now: number },
): Promise<void> {
  if (choice === 'destroy' && before === 'destroy') return;
  const columns = { secrets_choice: choice, secrets_destroy_at: null };
  await work.updateTable('envs').set(columns).where('name', '=', name).execute();
  const holders = await findSecretsHolders(work, name);
  for (const id of holders) {
    if (choice === 'destroy') await addPendingSteps(work, id, { steps: ['destroySecrets'], dueAt: now });
    else await endSecretsStep(work, id, now);
  }
}

async function endSecretsStep(work: Store, id: string, now: number): Promise<void> {
  await cancelStep(work, id, 'destroySecrets');
  await changeBackend(work, id, { event: { type: 'FINISH_STEP', step: 'destroySecrets' }, now });
}

/**
 * Cancels all destructions of secrets in a restored store, which lacks the changes since the backup. Returns each
 * environment with the backend that was being retired; null for a deleted environment.
 */
export async function spareSecrets(work: Store, now: number): Promise<{ backendId: string | null; env: string }[]> {
  const spared: { backendId: string | null; env: string }[] = [];
  for (const env of await listEnvs(work, null)) {
    for (const backendId of await findSecretsHolders(work, env.name)) {
      await endSecretsStep(work, backendId, now);
      spared.push({ backendId, env: env.name });
    }
  }
  const deletions = work.selectFrom('pending_steps').select('subject').where('step', '=', 'destroyEnvSecrets');
  for (const { subject } of await deletions.orderBy('subject').execute()) {
    await cancelStep(work, subject, 'destroyEnvSecrets');
    spared.push({ backendId: null, env: subject });
  }
  await work.updateTable('envs').set(undecided).where('secrets_choice', 'is distinct from', 'keep').execute();
  return spared;
}

/** Raises the sequences of an environment to one that a bundle of it has; never lowers them. */
export async function raiseSequences(work: Store, name: string, sequence: number): Promise<void> {
  const row = await lockEnvRow(work, name);
  if (row === null) return;
  const pushed_sequence = Math.max(sequence, row.pushed_sequence ?? 0);
  const last_sequence = Math.max(sequence, row.last_sequence);
  await work.updateTable('envs').set({ pushed_sequence, last_sequence }).where('name', '=', name).execute();
}

/** The highest sequence of the bundles of an environment up to a limit; 0 without such a bundle. */
export async function highestSequence(work: Store, env: string, limit: number): Promise<number> {
  const query = work.selectFrom('bundles').select(({ fn }) => fn.max('sequence').as('sequence'));
  const row = await query.where('env', '=', env).where('sequence', '<=', limit).executeTakeFirst();
  return row?.sequence ?? 0;
}

/** Sets the sequences of an environment: the next bundle gets a higher one. */
export async function setSequences(work: Store, name: string, sequence: number): Promise<void> {
  const sequences = { pushed_sequence: sequence, last_sequence: sequence };
  await work.updateTable('envs').set(sequences).where('name', '=', name).execute();
}

/** Holds every environment from a time on; returns their names. */
export async function holdEnvs(work: Store, now: number): Promise<string[]> {
  const update = work.updateTable('envs').set({ held_since: now }).where('deleted_at', 'is', null);
  return (await update.returning('name').execute()).map(({ name }) => name).toSorted();
}

/** Ends the hold of an environment. */
export async function releaseEnv(work: Store, name: string): Promise<void> {
  await work.updateTable('envs').set({ held_since: null }).where('name', '=', name).execute();
}

/** The environments that a restore holds, by name. */
export function listHeldEnvs(store: Store): Promise<EnvRow[]> {
  const query = store.selectFrom('envs').selectAll().where('held_since', 'is not', null);
  return query.where('deleted_at', 'is', null).orderBy('name').execute();
}
