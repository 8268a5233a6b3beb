import type { TenancySettings } from '../config/settings.ts';
import { addKey, deleteExpiredKeys, openKeyRing, publicKeyPems } from '../credentials/keyRing.ts';
import { PUBLISHED_AHEAD_MS } from '../credentials/keyRotation.ts';
import type { Output } from './commandError.ts';
import { readKeyFile } from './keyFiles.ts';
import { withCurrentStore } from './storeAccess.ts';

/**
 * `deployd-tenancy keys rotate`: adds a signing key, which is published before it signs unless `now` is asked for, and
 * deletes keys by which nothing that is valid can have been signed.
 */
export async function rotateKeys(settings: TenancySettings, { now }: { now: boolean }, out: Output): Promise<number> {
  const keyFile = readKeyFile(settings.key_file);
  const activeFrom = Date.now() + (now ? 0 : PUBLISHED_AHEAD_MS);
  const kid = await withCurrentStore(settings, async (store) => {
    await openKeyRing(store, keyFile);
    await deleteExpiredKeys(store, Date.now());
    return addKey(store, keyFile, activeFrom);
  });
  out.log(`key ${kid} signs from ${new Date(activeFrom).toISOString()} on`);
  return 0;
}

/** `deployd-tenancy keys show`: prints the public keys (PEM), for a secretstore that cannot fetch them. */
export async function showKeys(settings: TenancySettings, out: Output): Promise<number> {
  const keyFile = readKeyFile(settings.key_file);
  const pems = await withCurrentStore(settings, async (store) => publicKeyPems(await openKeyRing(store, keyFile)));
  out.log(pems.map((pem) => pem.trim()).join('\n'));
  return 0;
}
