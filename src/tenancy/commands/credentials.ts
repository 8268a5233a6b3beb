import type { TenancySettings } from '../config/configKeys.ts';
import { addKey, deleteExpiredKeys, openKeyRing, publicKeyPems, PUBLISHED_AHEAD_MS } from '../keys/keyRing.ts';
import { addAdministrator } from '../people/people.ts';
import { CommandError, type Output, readKeyFile, withCurrentStore } from './storeAccess.ts';

/**
 * `deployd-tenancy admin NAME`: creates an administrator of all environments, and prints the token once. Replaces a
 * lost token.
 */
export async function admin(settings: TenancySettings, name: string, out: Output): Promise<number> {
  const administrator = { name, act: 'service.admin', now: Date.now() };
  const token = await withCurrentStore(settings, (store) =>
    store.transaction().execute((work) => addAdministrator(work, administrator)),
  );
  if (token === null) throw new CommandError(`the name ${name} is in use by an operator: choose another`);
  out.log(token);
  return 0;
}

/**
 * `deployd-tenancy keys rotate`: adds a signing key, which is published before it signs unless `now` is set, and
 * deletes keys whose signatures have all expired.
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

/** `deployd-tenancy keys show`: prints the public keys (PEM) for a secretstore that cannot fetch them. */
export async function showKeys(settings: TenancySettings, out: Output): Promise<number> {
  const keyFile = readKeyFile(settings.key_file);
  const pems = await withCurrentStore(settings, async (store) => publicKeyPems(await openKeyRing(store, keyFile)));
  out.log(pems.map((pem) => pem.trim()).join('\n'));
  return 0;
}
