import type { TenancySettings } from '../config/settings.ts';
import { migrateStore } from '../store/openStore.ts';
import type { Output } from './commandError.ts';
import { noStore, presentStore, requireKnownTables, withStore } from './storeAccess.ts';

/** `deployd-tenancy migrate`: brings the store to this version; does nothing to a store that is of it. */
export async function migrate(settings: TenancySettings, out: Output): Promise<number> {
  const done = await withStore(presentStore(settings), async (store) => {
    const { isEmpty } = await requireKnownTables(store);
    if (isEmpty) throw noStore();
    return migrateStore(store);
  });
  out.log(done.length === 0 ? 'the store is of this version' : `migrated the store: ${done.join(', ')}`);
  return 0;
}
