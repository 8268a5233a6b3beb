import type { TenancySettings } from '../config/configKeys.ts';
import { listSigningKeys } from '../keys/keyRing.ts';
import { migrateStore, type Store } from '../store/openStore.ts';
import {
  CommandError,
  ensureKeyFile,
  noStore,
  type Output,
  presentStore,
  requireKnownTables,
  storePlaceOf,
  withStore,
} from './storeAccess.ts';
import { initializeStore } from './backup.ts';

/** `deployd-tenancy migrate`: updates the store to this version; does nothing if it is up to date. */
export async function migrate(settings: TenancySettings, out: Output): Promise<number> {
  const done = await withStore(presentStore(settings), async (store) => {
    const { isEmpty } = await requireKnownTables(store);
    if (isEmpty) throw noStore();
    return migrateStore(store);
  });
  out.log(done.length === 0 ? 'the store is of this version' : `migrated the store: ${done.join(', ')}`);
  return 0;
}

/**
 * `deployd-tenancy init`: creates the files and the store that the service needs, and prints the first administrator's
 * token once. The next run finishes an interrupted one; existing files stay unchanged.
 */
export async function init(settings: TenancySettings, out: Output): Promise<number> {
  const { key_file } = settings;
  const token = await withStore(storePlaceOf(settings), async (store) => {
    const { isEmpty } = await requireKnownTables(store);
    if (!isEmpty && (await hasKeys(store))) throw isInitialized(key_file);
    const keyFile = await ensureKeyFile(key_file);
    await migrateStore(store);
    return initializeStore(store, keyFile, Date.now());
  });
  if (token === null) throw isInitialized(key_file);
  out.error(`key file: ${key_file} (keep a copy apart from the store's backups; every instance needs the same)`);
  out.error('token of the administrator `admin`, shown only now:');
  out.log(token);
  return 0;
}

async function hasKeys(store: Store): Promise<boolean> {
  return (await listSigningKeys(store)).length > 0;
}

function isInitialized(keyFile: string): CommandError {
  return new CommandError(
    `the store is already initialized and was not changed. Another instance needs a copy of ${keyFile}; a lost ` +
      'administrator’s token is replaced by sudo deployd-tenancy admin NAME',
  );
}
