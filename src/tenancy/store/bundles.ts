import type { Insertable } from 'kysely';
import type { BundleRow, BundleTable, ListedBundle, Place, SignatureRow } from './database.ts';
import { findEnv, lockEnv, lockEnvRow } from './envs.ts';
import { inTransaction, type Store } from './openStore.ts';

/**
 * Result of adding a bundle: `known` if the same archive exists, `stale` if its environment has had the same sequence
 * or a higher one, `envless` if the environment does not exist.
 */
export type BundleInsertion = 'added' | 'known' | 'stale' | 'envless';

/**
 * Adds a bundle to its environment in a transaction, and raises the sequences of the environment to the bundle's. An
 * adopted one may have any sequence that no other bundle has.
 */
export async function insertBundle(
  work: Store,
  row: Insertable<BundleTable>,
  isAdopted = false,
): Promise<BundleInsertion> {
  const { sequence } = row;
  // Serialize the bundles of one environment.
  const env = await lockEnv(work, row.env);
  if (env === null) return 'envless';
  if ((await findBundle(work, row.sha256)) !== null) return 'known';
  const pushed = env.pushed_sequence ?? -1;
  if (isAdopted ? await hasSequence(work, row) : sequence <= pushed) return 'stale';
  const raised = { pushed_sequence: Math.max(sequence, pushed), last_sequence: Math.max(sequence, env.last_sequence) };
  await work.updateTable('envs').set(raised).where('name', '=', row.env).execute();
  await work.insertInto('bundles').values(row).execute();
  return 'added';
}

async function hasSequence(work: Store, { env, sequence }: Pick<BundleRow, 'env' | 'sequence'>): Promise<boolean> {
  const query = work.selectFrom('bundles').select('sha256').where('env', '=', env).where('sequence', '=', sequence);
  return (await query.executeTakeFirst()) !== undefined;
}

/** Number of digests in one query. */
const DIGESTS_AT_ONCE = 500;

/** Selects the digests of which the store has neither a bundle nor an archive. */
export async function findUnknownDigests(store: Store, digests: readonly string[]): Promise<string[]> {
  const known = new Set<string>();
  for (let from = 0; from < digests.length; from += DIGESTS_AT_ONCE) {
    const some = digests.slice(from, from + DIGESTS_AT_ONCE);
    for (const table of ['bundles', 'archives'] as const) {
      const rows = await store.selectFrom(table).select('sha256').where('sha256', 'in', some).execute();
      for (const { sha256 } of rows) known.add(sha256);
    }
  }
  return digests.filter((sha256) => !known.has(sha256));
}

/** The sequences of bundles by digest; other digests are omitted. */
export async function findSequences(store: Store, digests: readonly string[]): Promise<Map<string, number>> {
  const found = new Map<string, number>();
  for (let from = 0; from < digests.length; from += DIGESTS_AT_ONCE) {
    const some = digests.slice(from, from + DIGESTS_AT_ONCE);
    const rows = await store.selectFrom('bundles').select(['sha256', 'sequence']).where('sha256', 'in', some).execute();
    for (const { sha256, sequence } of rows) found.set(sha256, sequence);
  }
  return found;
}

/** The row of a bundle; null if there is none. */
export async function findBundle(store: Store, sha256: string): Promise<BundleRow | null> {
  return (await store.selectFrom('bundles').selectAll().where('sha256', '=', sha256).executeTakeFirst()) ?? null;
}

/** A group of bundles that differ only by their sequences is named by the digest of its first one. */
export function groupOf({ sha256, same_as }: Pick<BundleRow, 'sha256' | 'same_as'>): string {
  return same_as ?? sha256;
}

/** The groups of all bundles that differ only by their sequences from one of some bundles, by digest. */
export async function findGroups(store: Store, digests: readonly string[]): Promise<Map<string, string>> {
  if (digests.length === 0) return new Map();
  const first = store.selectFrom('bundles').select('same_as').where('sha256', 'in', digests);
  const groups = first.where('same_as', 'is not', null).$narrowType<{ same_as: string }>();
  const rows = await store
    .selectFrom('bundles')
    .select(['sha256', 'same_as'])
    .where((eb) => eb.or([eb('sha256', 'in', groups), eb('same_as', 'in', groups)]))
    .execute();
  return new Map(rows.map((row) => [row.sha256, groupOf(row)]));
}

/** The newest bundle of an environment; null if there is none. */
export async function findNewestBundle(store: Store, env: string): Promise<BundleRow | null> {
  return (await newestOf(store, env).executeTakeFirst()) ?? null;
}

/** The newest replacement of an environment's desired bundle; null if there is none. */
export async function findReplacement(store: Store, { env, sha256 }: BundleRow): Promise<BundleRow | null> {
  return (await newestOf(store, env).where('replaces', '=', sha256).executeTakeFirst()) ?? null;
}

/** Bundles above the sequence of the environment are from before an administrator lowered it. */
function newestOf(store: Store, env: string) {
  const last = store.selectFrom('envs').select('last_sequence').where('name', '=', env);
  const bundles = store.selectFrom('bundles').selectAll().where('env', '=', env).where('sequence', '<=', last);
  return bundles.orderBy('sequence', 'desc').limit(1);
}

/** The digests of all bundles of an environment. */
export async function listDigests(store: Store, env: string): Promise<string[]> {
  const rows = await store.selectFrom('bundles').select('sha256').where('env', '=', env).execute();
  return rows.map(({ sha256 }) => sha256);
}

/** The highest sequence that any bundle of an environment has had; null if there was no bundle. */
export async function highestSequence(store: Store, env: string): Promise<number | null> {
  return (await findEnv(store, env))?.pushed_sequence ?? null;
}

const listedColumns = [
  ...(['sha256', 'env', 'name', 'version', 'sequence', 'size_bytes', 'received_at', 'received_from'] as const),
  ...(['production', 'allow_privileged', 'allow_rollback', 'emergency', 'returns_to'] as const),
];

/** Filters of a list of bundles: the bundles after another one, in some environments (null for all). */
interface BundleFilter {
  after?: Place | undefined;
  envs: readonly string[] | null;
  limit: number;
}

/** A page of bundles, newest first. */
export function listBundles(store: Store, { after, envs, limit }: BundleFilter): Promise<ListedBundle[]> {
  let query = store
    .selectFrom('bundles')
    .select(listedColumns)
    .orderBy('received_at', 'desc')
    .orderBy('sha256', 'desc');
  if (envs !== null) query = query.where('env', 'in', envs);
  if (after !== undefined) {
    query = query.where((where) =>
      where(where.refTuple('received_at', 'sha256'), '<', where.tuple(after.time, after.id)),
    );
  }
  return query.limit(limit).execute();
}

/** Environments with more bundles than a limit, and deleted environments with any bundle. */
export async function findEnvsOverLimit(store: Store, keep: number): Promise<string[]> {
  const rows = await store
    .selectFrom('bundles')
    .innerJoin('envs', 'envs.name', 'bundles.env')
    .select('envs.name')
    .groupBy(['envs.name', 'envs.deleted_at'])
    .having((having) =>
      having.or([having(having.fn.countAll<number>(), '>', keep), having('envs.deleted_at', 'is not', null)]),
    )
    .execute();
  return rows.map(({ name }) => name);
}

/**
 * Deletes the bundles of an environment except the newest, the desired one and the previous one, the rollout's, and
 * those that hosts run; returns how many.
 */
export async function deleteOldBundles(work: Store, name: string, keep: number): Promise<number> {
  const env = await lockEnvRow(work, name);
  const bundles = work.selectFrom('bundles').select('sha256').where('env', '=', name);
  const newest = bundles.orderBy('sequence', 'desc').limit(env?.deleted_at === null ? keep : 0);
  const backends = work.selectFrom('backends').select('applied_sha').where('env', '=', name);
  const applied = backends.where('applied_sha', 'is not', null).where('state', '!=', 'retired');
  const rolledOut = work
    .selectFrom('rollouts')
    .select('sha256')
    .where('id', '=', env?.rollout_id ?? '');
  const deletion = work
    .deleteFrom('bundles')
    .where('env', '=', name)
    .where('sha256', 'not in', [env?.desired_sha ?? '', env?.deleted_at === null ? (env.previous_sha ?? '') : ''])
    .where('sha256', 'not in', rolledOut)
    .where('sha256', 'not in', newest)
    .where('sha256', 'not in', applied.$narrowType<{ applied_sha: string }>());
  return Number((await deletion.executeTakeFirstOrThrow()).numDeletedRows);
}

/**
 * Records that an archive is about to be stored, so that it is found and removed if it gets no bundle; returns false
 * while it is being removed.
 */
export async function announceArchive(store: Store, sha256: string, now: number): Promise<boolean> {
  const insert = store
    .insertInto('archives')
    .values({ sha256, announced_at: now, removing: 0 })
    .onConflict((conflict) =>
      conflict.column('sha256').doUpdateSet({ announced_at: now }).where('archives.removing', '=', 0),
    );
  return (await insert.executeTakeFirstOrThrow()).numInsertedOrUpdatedRows === 1n;
}

/** Holds an announced archive until the transaction ends; returns false if it was removed or is being removed. */
export async function holdArchive(work: Store, sha256: string): Promise<boolean> {
  const update = work
    .updateTable('archives')
    .set({ removing: 0 })
    .where('sha256', '=', sha256)
    .where('removing', '=', 0);
  return (await update.executeTakeFirstOrThrow()).numUpdatedRows === 1n;
}

/** Selects archives without a bundle that were announced before a time, and archives whose removal was interrupted. */
export async function chooseArchivesToRemove(store: Store, announcedBefore: number): Promise<string[]> {
  const choose = (work: Store) =>
    work
      .updateTable('archives')
      .set({ removing: 1 })
      .where('announced_at', '<', announcedBefore)
      .where((where) => {
        const bundle = where.selectFrom('bundles').select('env').whereRef('bundles.sha256', '=', 'archives.sha256');
        return where.not(where.exists(bundle));
      })
      .returning('sha256')
      .execute();
  const chosen = await inTransaction(store, choose);
  return chosen.map(({ sha256 }) => sha256);
}

/** Deletes the record of a removed archive. */
export async function forgetArchive(store: Store, sha256: string): Promise<void> {
  await store.deleteFrom('archives').where('sha256', '=', sha256).where('removing', '=', 1).execute();
}

/** Adds a signature to its bundle. */
export async function insertSignature(work: Store, row: SignatureRow): Promise<void> {
  await work.insertInto('signatures').values(row).execute();
}

/** The signatures of a bundle, oldest first. */
export function listSignatures(store: Store, bundleSha256: string): Promise<SignatureRow[]> {
  const query = store.selectFrom('signatures').selectAll().where('bundle_sha256', '=', bundleSha256);
  return query.orderBy('received_at').orderBy('sha256').execute();
}

/** The distinct signers of each of some bundles, sorted; bundles without a trusted signer are omitted. */
export async function findSigners(store: Store, bundles: readonly string[]): Promise<Map<string, string[]>> {
  if (bundles.length === 0) return new Map();
  const rows = await store
    .selectFrom('signatures')
    .select(['bundle_sha256', 'signer'])
    .distinct()
    .where('bundle_sha256', 'in', bundles)
    .where('signer', 'is not', null)
    .$narrowType<{ signer: string }>()
    .execute();
  const groups = Map.groupBy(rows, ({ bundle_sha256 }) => bundle_sha256);
  return new Map([...groups].map(([sha256, own]) => [sha256, own.map(({ signer }) => signer).toSorted()]));
}

/** Stores the signer of a signature; null for an untrusted one. */
export async function setSigner(
  work: Store,
  { bundle_sha256, sha256 }: Pick<SignatureRow, 'bundle_sha256' | 'sha256'>,
  signer: string | null,
): Promise<void> {
  const update = work.updateTable('signatures').set({ signer });
  await update.where('bundle_sha256', '=', bundle_sha256).where('sha256', '=', sha256).execute();
}
