import { addKey } from '../credentials/keyRing.ts';
import { listSigningKeys } from '../store/signingKeys.ts';
import type { Store } from '../store/openStore.ts';
import { addAdministrator } from './administrators.ts';

/** Name of the first administrator, and of one whom a restore makes. */
export const ADMINISTRATOR = 'admin';

/**
 * Gives an empty store its first signing key and its first administrator. Returns the administrator's token, which is not
 * kept; null if the store has them already.
 */
export function initializeStore(store: Store, keyFile: Uint8Array, now: number): Promise<string | null> {
  return store.transaction().execute(async (work) => {
    if ((await listSigningKeys(work)).length > 0) return null;
    // Of two that begin at once, the one that comes second finds the name taken, and its key is undone.
    const token = await addAdministrator(work, { name: ADMINISTRATOR, act: 'service.init', now });
    if (token !== null) await addKey(work, keyFile, now);
    return token;
  });
}
