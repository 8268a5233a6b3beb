import type { TenancySettings } from '../config/settings.ts';
import { initializeStore } from '../services/initializeStore.ts';
import { migrateStore, type Store } from '../store/openStore.ts';
import { listSigningKeys } from '../store/signingKeys.ts';
import { CommandError, type Output } from './commandError.ts';
import { ensureKeyFile } from './keyFiles.ts';
import { requireKnownTables, storePlaceOf, withStore } from './storeAccess.ts';

/**
 * `deployd-tenancy init`: makes what the service needs before its first start, and prints the first administrator's token,
 * once. A run that was cut is finished by the next; what is there already stays as it is.
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
    `the store is initialized already, and was left as it is. Another instance needs a copy of ${keyFile}; a lost ` +
      'administrator’s token is replaced by deployd-tenancy admin NAME',
  );
}
