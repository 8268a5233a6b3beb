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

/** The file of the embedded store. */
export function storeFileOf({ state_dir }: Pick<TenancySettings, 'state_dir'>): string {
  return join(state_dir, 'store.sqlite');
}

/** Where the store is. */
export function storePlaceOf(settings: StoreSettings): StorePlace {
  const { database_url_file: file } = settings;
  return file === null ? { file: storeFileOf(settings) } : { url: readDatabaseUrl(file) };
}

/** Opens the store for a piece of work, and closes it. Errors of the store become a CommandError. */
export async function withStore<T>(place: StorePlace, work: (store: Store) => Promise<T>): Promise<T> {
  const store = openStore(place);
  try {
    return await work(store);
  } catch (error) {
    throw toldError(error);
  } finally {
    await store.destroy().catch(() => undefined);
  }
}

/** As `withStore`; throws a CommandError unless there is a store of this version. */
export async function withCurrentStore<T>(settings: StoreSettings, work: (store: Store) => Promise<T>): Promise<T> {
  return withStore(presentStore(settings), async (store) => {
    await requireCurrentTables(store);
    return work(store);
  });
}

/** Opens a store of this version; throws a CommandError if there is none. Whoever opens it closes it. */
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

/** Where the store is; throws a CommandError if the embedded one was never made. */
export function presentStore(settings: StoreSettings): StorePlace {
  const place = storePlaceOf(settings);
  if ('file' in place && !existsSync(place.file)) throw noStore();
  return place;
}

/** Throws a CommandError while an instance serves from the embedded store; instances on PostgreSQL are not seen. */
export function lockStore({ state_dir, database_url_file }: StoreSettings): () => void {
  if (database_url_file !== null) return () => undefined;
  const release = takeInstanceLock(join(state_dir, 'serving.lock'));
  if (release === null) throw new CommandError(`another process serves from ${state_dir}: stop it first`);
  return release;
}

/** Throws a CommandError unless the tables are those of this version. */
async function requireCurrentTables(store: Store): Promise<void> {
  const { pending, isEmpty } = await requireKnownTables(store);
  if (isEmpty) throw noStore();
  if (pending.length > 0)
    throw new CommandError(`the store is of an older version (${pending.join(', ')}): run deployd-tenancy migrate`);
}

/** Throws a CommandError if the tables are of a newer version. */
export async function requireKnownTables(store: Store): Promise<{ pending: string[]; isEmpty: boolean }> {
  const { unknown, ...state } = await migrationState(store);
  if (unknown.length === 0) return state;
  throw new CommandError(
    `the store is of a newer version (${unknown.join(', ')}): install that version, or restore a backup of this one`,
  );
}

/** There is no store, or it is empty. */
export function noStore(): CommandError {
  return new CommandError('there is no store yet: run deployd-tenancy init');
}

function toldError(error: unknown): unknown {
  return isStoreError(error) ? new CommandError(`the store cannot be used: ${error.message}`) : error;
}

/** Errors of SQLite and of PostgreSQL's client have a code; their messages name no credentials. */
function isStoreError(error: unknown): error is Error & { code: string } {
  return typeof error === 'object' && error !== null && 'message' in error && 'code' in error;
}

/**
 * Lets one process at a time serve from a SQLite store. The kernel takes the lock back however the process ends. Returns
 * how to release it; null while another process has it.
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

/** A command cannot do what it was asked for; the message says why, and what an operator has to do. Exit 1. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CommandError';
  }
}

/** Results to `log`, everything else to `error`; `console` is one. */
export interface Output {
  log: (line: string) => void;
  error: (line: string) => void;
}

/** The key file; throws ConfigInvalid if it is missing or damaged. */
export function readKeyFile(file: string): Buffer {
  const bytes = readBytes(file);
  if (bytes.length === KEY_FILE_BYTES) return bytes;
  throw new ConfigInvalid(file, [
    { line: null, key: '', message: `must have ${KEY_FILE_BYTES} bytes, and has ${bytes.length}` },
  ]);
}

/** The key file, which is made durably with mode 0600 if it is not there. */
export async function ensureKeyFile(file: string): Promise<Buffer> {
  if (!existsSync(file)) await createFileOnce(file, (part) => part.writeFile(randomBytes(KEY_FILE_BYTES)));
  return readKeyFile(file);
}

/**
 * Makes a file with mode 0600 durably and in one step: nobody sees a part of it, and one that is there stays as it is.
 * `write` fills it, by the handle or by its temporary path. Returns false if there was one.
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

/** Makes the names in a directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
