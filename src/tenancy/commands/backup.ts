import { access, constants, link, open, rename, rm, writeFile } from 'node:fs/promises';
import { backup as copyDatabase, DatabaseSync } from 'node:sqlite';
import type { TenancySettings } from '../config/configKeys.ts';
import { addKey, deleteAllSigningKeys, listSigningKeys } from '../keys/keyRing.ts';
import { bundleDirectoryOf } from '../peers/bundleStorage.ts';
import { addAdministrator } from '../people/people.ts';
import { type HeldStore, holdRestored, SEQUENCE_GAP } from '../backends/restore.ts';
import { listEnvs } from '../store/envs.ts';
import { migrateStore, type Store } from '../store/openStore.ts';
import { deleteAllSessions, revokeAllOperators } from '../store/people.ts';
import {
  CommandError,
  createFileOnce,
  ensureKeyFile,
  lockStore,
  noStore,
  type Output,
  requireKnownTables,
  storeFileOf,
  storePlaceOf,
  syncDirectory,
  withCurrentStore,
  withStore,
} from './storeAccess.ts';

/**
 * `deployd-tenancy backup FILE`: copies the embedded store, even while the service runs; the copy is consistent. Prints
 * which other files need a backup.
 */
export async function backup(settings: TenancySettings, file: string, out: Output): Promise<number> {
  if (settings.database_url_file !== null) throw new CommandError(postgresAdvice(settings.database_url_file, file));
  await withCurrentStore(settings, async () => undefined);
  if (!(await createFileOnce(file, (_part, path) => copyStore(storeFileOf(settings), path)))) {
    throw new CommandError(`${file} exists: name a new file`);
  }
  out.log(`the store is in ${file}. Keep beside it, in this order:`);
  out.log(bundlesAdvice(settings));
  out.log(`- the key file ${settings.key_file}, apart from the backups: with both, grants can be signed`);
  return 0;
}

async function copyStore(from: string, to: string): Promise<void> {
  await copySqliteStore(from, to);
  const damage = findSqliteDamage(to);
  if (damage !== null) throw new CommandError(`the store is damaged: ${damage}`);
}

function bundlesAdvice({ s3, state_dir }: TenancySettings): string {
  const place = s3.url === null ? `the directory ${bundleDirectoryOf(state_dir)}` : `the bucket ${s3.bucket ?? ''}`;
  return `- the bundles: ${place}, copied after the store, so that every bundle in the store is included`;
}

function postgresAdvice(urlFile: string, file: string): string {
  return (
    `the store is the PostgreSQL database that ${urlFile} names; back it up with its own tools: ` +
    `pg_dump --format=custom --file=${file} DATABASE`
  );
}

/**
 * `deployd-tenancy restore [FILE]`: replaces the embedded store with a backup and secures it; no instance may be
 * serving. Without FILE, the store was already restored by other means, such as pg_restore or a snapshot, and is only
 * secured.
 */
export async function restore(settings: TenancySettings, file: string | undefined, out: Output): Promise<number> {
  const keyFile = await ensureKeyFile(settings.key_file);
  const release = lockStore(settings);
  try {
    const restored =
      file === undefined ? await settle(storePlaceOf(settings), keyFile) : await replaceStore(settings, file, keyFile);
    report(restored, out);
    return 0;
  } finally {
    release();
  }
}

function settle(place: Parameters<typeof withStore>[0], keyFile: Buffer): Promise<RestoredStore> {
  return withStore(place, async (store) => {
    const { isEmpty } = await requireKnownTables(store);
    if (isEmpty) throw noStore();
    await migrateStore(store);
    return settleRestore(store, keyFile, Date.now());
  });
}

/** Secures the copy before it replaces the store, which is kept under another name. */
async function replaceStore(settings: TenancySettings, file: string, keyFile: Buffer): Promise<RestoredStore> {
  if (settings.database_url_file !== null)
    throw new CommandError('the store is in PostgreSQL: restore it by pg_restore, then call this without a file');
  await access(file, constants.R_OK);
  const damage = findSqliteDamage(file);
  if (damage !== null) throw new CommandError(`${file} is not a sound backup: ${damage}`);
  const target = storeFileOf(settings);
  const copy = `${target}.restoring`;
  await removeStore(copy);
  try {
    await writeFile(copy, '', { mode: 0o600 });
    await copySqliteStore(file, copy);
    const restored = await settle({ file: copy }, keyFile);
    packSqliteStore(copy);
    await syncFile(copy);
    await keepReplaced(target);
    await rename(copy, target);
    await syncDirectory(settings.state_dir);
    return restored;
  } finally {
    await removeStore(copy);
  }
}

/** Keeps the replaced store together with its log. */
async function keepReplaced(target: string): Promise<void> {
  const kept = `${target}.before-restore-${new Date().toISOString().replaceAll(':', '')}`;
  await link(target, kept).catch(ignoreMissing);
  await rename(`${target}-wal`, `${kept}-wal`).catch(ignoreMissing);
  await rm(`${target}-shm`, { force: true });
}

async function removeStore(file: string): Promise<void> {
  for (const end of ['', '-wal', '-shm']) await rm(`${file}${end}`, { force: true });
}

async function syncFile(path: string): Promise<void> {
  const handle = await open(path, 'r+');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== 'ENOENT') throw error;
}

function report({ token, revokedOperators, sparedEnvs, haltedEnvs, desired }: RestoredStore, out: Output): void {
  out.error('every environment is held: hosts keep what they run, and get nothing else, until you have reviewed it');
  out.error('start the service, then: deployctl restore review');
  out.error(`sequences continue ${SEQUENCE_GAP} higher; earlier grants are void: reveal unused kits again`);
  out.error(`${revokedOperators} operators' tokens are revoked: make new ones`);
  for (const { env, sha256 } of desired) {
    out.error(`environment ${env}: the desired bundle is ${sha256}`);
  }
  for (const env of haltedEnvs) {
    out.error(
      `environment ${env}: its rollout is halted, because hosts may have advanced since the backup; resume or abort it`,
    );
  }
  for (const env of sparedEnvs) {
    out.error(
      `environment ${env}: its secrets were due to be destroyed and have been kept; destroy them if nothing uses them`,
    );
  }
  out.error('backends that were created after the backup are missing: create them again');
  out.error('token of the administrator `admin`, shown only now:');
  out.log(token);
}

/** Facts about a restored store that the operator needs. */
interface RestoredStore extends HeldStore {
  /** Token of the new administrator, which is not stored. */
  token: string;
  revokedOperators: number;
  /** Digests of the desired bundles by environment. */
  desired: { env: string; sha256: string }[];
}

/**
 * Secures a restored store, which lacks all changes since the backup, and holds its environments. Earlier signatures by
 * the service are void, and operator tokens are revoked. Hosts keep their tokens: superseded tokens, and tokens of
 * retired hosts, were revoked at the secretstore.
 */
function settleRestore(store: Store, keyFile: Uint8Array, now: number): Promise<RestoredStore> {
  return store.transaction().execute(async (work) => {
    const held = await holdRestored(work, now);
    await deleteAllSigningKeys(work);
    await addKey(work, keyFile, now);
    await deleteAllSessions(work);
    await work.deleteFrom('host_codes').execute();
    const revokedOperators = await revokeAllOperators(work, now);
    const token = await addAdministrator(work, { name: ADMINISTRATOR, act: 'service.restore', now });
    if (token === null) throw new Error('every operator was revoked, and yet the name is taken');
    const envs = await listEnvs(work, null);
    const desired = envs.flatMap(({ name, desired_sha }) =>
      desired_sha === null ? [] : [{ env: name, sha256: desired_sha }],
    );
    return { ...held, token, revokedOperators, desired };
  });
}

/** Name of the first administrator, and of the administrator that a restore creates. */
const ADMINISTRATOR = 'admin';

/**
 * Creates the first signing key and the first administrator in an empty store. Returns the administrator's token, which
 * is not stored; null if the store already has them.
 */
export function initializeStore(store: Store, keyFile: Uint8Array, now: number): Promise<string | null> {
  return store.transaction().execute(async (work) => {
    if ((await listSigningKeys(work)).length > 0) return null;
    // If two calls overlap, the second one finds the name taken, and its key is rolled back.
    const token = await addAdministrator(work, { name: ADMINISTRATOR, act: 'service.init', now });
    if (token !== null) await addKey(work, keyFile, now);
    return token;
  });
}

/** More than the pages of any store. */
const ALL_PAGES = 2 ** 31 - 1;

/**
 * Copies an SQLite store, which may be in use, into an empty file; the copy is consistent and complete in that file.
 */
export async function copySqliteStore(from: string, to: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true });
  try {
    // All pages at once: a copy in parts would restart with each change by the service.
    await copyDatabase(source, to, { rate: ALL_PAGES });
  } finally {
    source.close();
  }
  packSqliteStore(to);
}

/** Moves the log of an unused store into its file. */
function packSqliteStore(file: string): void {
  const database = new DatabaseSync(file);
  try {
    database.exec('pragma journal_mode = delete');
  } finally {
    database.close();
  }
}

/** The damage that SQLite finds in the file of a store; null if there is none. */
function findSqliteDamage(file: string): string | null {
  try {
    const database = new DatabaseSync(file, { readOnly: true });
    try {
      const [first] = database.prepare('pragma quick_check(1)').all();
      const told = String(first?.['quick_check']);
      return told === 'ok' ? null : told;
    } finally {
      database.close();
    }
  } catch (error) {
    return (error as Error).message;
  }
}
