import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { readBytes, readDatabaseUrl } from '../config/loadSettings.ts';
import { KEY_FILE_BYTES } from '../keys/keyRing.ts';
import { migrationState, openStore, type Store, type StorePlace } from '../store/openStore.ts';

type StoreSettings = Pick<TenancySettings, 'state_dir' | 'database_url_file'>;

/** Path of the embedded store. */
export function storeFileOf({ state_dir }: Pick<TenancySettings, 'state_dir'>): string {
  return join(state_dir, 'store.sqlite');
}

/** Location of the store. */
export function storePlaceOf(settings: StoreSettings): StorePlace {
  const { database_url_file: file } = settings;
  return file === null ? { file: storeFileOf(settings) } : { url: readDatabaseUrl(file) };
}

/** Opens the store for the `work` of a command, without limits of time, then closes it. Converts errors of the store to a CommandError. */
export async function withStore<T>(place: StorePlace, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(place, false);
  try {
    return await work(store);
  } catch (error) {
    throw toldError(error);
  } finally {
    await store.destroy().catch(() => undefined);
  }
}

/** Like `withStore`; throws a CommandError unless there is a store of this version. */
export async function withCurrentStore<T>(settings: StoreSettings, work: (store: Store) => Promise<T>): Promise<T> {
  return withStore(presentStore(settings), async (store) => {
    await requireCurrentTables(store);
    return work(store);
  });
}

/** Opens a store of this version, which the caller must close; throws a CommandError if there is none. */
export async function openCurrentStore(settings: StoreSettings): Promise<Store> {
  const store = openStore(presentStore(settings));
  try {
    await requireCurrentTables(store);
    return store;
  } catch (error) {
    await store.destroy().catch(() => undefined);
    throw toldError(error);
  }
}

/** Location of the store; throws a CommandError if the embedded store does not exist. */
export function presentStore(settings: StoreSettings): StorePlace {
  const place = storePlaceOf(settings);
  if ('file' in place && !existsSync(place.file)) throw noStore();
  return place;
}

/**
 * Throws a CommandError while an instance serves from the embedded store; instances with PostgreSQL are not detected.
 */
export function lockStore({ state_dir, database_url_file }: StoreSettings): () => void {
  if (database_url_file !== null) return () => undefined;
  const release = takeInstanceLock(join(state_dir, 'serving.lock'));
  if (release === null) throw new CommandError(`another process serves from ${state_dir}: stop it first`);
  return release;
}

/** Throws a CommandError unless the tables are from this version. */
async function requireCurrentTables(store: Store): Promise<void> {
  const { pending, isEmpty } = await requireKnownTables(store);
  if (isEmpty) throw noStore();
  if (pending.length > 0)
    throw new CommandError(
      `the store is of an older version (${pending.join(', ')}): run sudo deployd-tenancy migrate`,
    );
}

/** Throws a CommandError if the tables are from a newer version. */
export async function requireKnownTables(store: Store): Promise<{ pending: string[]; isEmpty: boolean }> {
  const { unknown, ...state } = await migrationState(store);
  if (unknown.length === 0) return state;
  throw new CommandError(
    `the store is of a newer version (${unknown.join(', ')}): install that version, or restore a backup of this one`,
  );
}

/** The error for a store that does not exist or is empty. */
export function noStore(): CommandError {
  return new CommandError('there is no store yet: run sudo deployd-tenancy init');
}

function toldError(error: unknown): unknown {
  return isStoreError(error) ? new CommandError(`the store cannot be used: ${error.message}`) : error;
}

/** Errors of SQLite and of PostgreSQL's client have a code; their messages contain no credentials. */
function isStoreError(error: unknown): error is Error & { code: string } {
  return typeof error === 'object' && error !== null && 'message' in error && 'code' in error;
}

/**
 * Lets only one process at a time serve from a SQLite store. The kernel releases the lock however the process ends.
 * Returns a function that releases the lock; null while another process holds it.
 */
export function takeInstanceLock(file: string): (() => void) | null {
  const lock = new DatabaseSync(file, { timeout: 0 });
  try {
    lock.exec('pragma journal_mode = memory; begin exclusive');
    return () => lock.close();
  } catch (error) {
    lock.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
}

const SQLITE_BUSY = 5;

/** A command failed; the message gives the reason and the operator's next step. Exit code 1. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CommandError';
  }
}

/** Results go to `log`, everything else to `error`, for example of `console`. */
export interface Output {
  log: (line: string) => void;
  error: (line: string) => void;
}

/** Reads the key file; throws ConfigInvalid if it is missing or damaged. */
export function readKeyFile(file: string): Buffer {
  const bytes = readBytes(file);
  if (bytes.length === KEY_FILE_BYTES) return bytes;
  throw new ConfigInvalid(file, [
    { line: null, key: '', message: `must have ${KEY_FILE_BYTES} bytes, and has ${bytes.length}` },
  ]);
}

/** Reads the key file; creates it durably with mode 0600 if it does not exist. */
export async function ensureKeyFile(file: string): Promise<Buffer> {
  if (!existsSync(file)) await createFileOnce(file, (part) => part.writeFile(randomBytes(KEY_FILE_BYTES)));
  return readKeyFile(file);
}

/**
 * Creates a file with mode 0600 durably and atomically, so that no reader sees a partial file; an existing file stays
 * unchanged. `write` fills it through the handle or its temporary path. Returns false if the file existed.
 */
export async function createFileOnce(
  file: string,
  write: (part: FileHandle, path: string) => Promise<unknown>,
): Promise<boolean> {
  const path = `${file}.${randomUUID()}.part`;
  const part = await open(path, 'wx', 0o600);
  try {
    await write(part, path);
    await part.sync();
    await link(path, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await part.close();
    await rm(path);
    await syncDirectory(dirname(file));
  }
}

/** Makes the entries of a directory survive a power failure. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
