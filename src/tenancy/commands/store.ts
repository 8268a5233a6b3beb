import { link, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { TenancySettings } from '../config/configKeys.ts';
import { publicHostOf } from '../config/loadSettings.ts';
import { ownIdentity, pinOf, resealCertificates } from '../keys/ownAuthority.ts';
import {
  addKey,
  createSealer,
  deleteExpiredKeys,
  KeyError,
  listSigningKeys,
  openKeyRing,
  publicKeyPems,
  PUBLISHED_AHEAD_MS,
  resealKeys,
} from '../keys/keyRing.ts';
import { addAdministrator } from '../people/people.ts';
import { removeSecrets, renewKeys } from '../secretstore/records.ts';
import { migrateStore, type Store } from '../store/openStore.ts';
import { addAuditEntry, deleteAllSessions } from '../store/people.ts';
import { resealWebhooks } from '../webhooks/webhooks.ts';
import { auditEntry, byService } from '../core/audit.ts';
import {
  CommandError,
  ensureKeyFile,
  lockStore,
  noStore,
  type Output,
  presentStore,
  readKeyFile,
  requireKnownTables,
  storePlaceOf,
  syncDirectory,
  withCurrentStore,
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

/**
 * `deployd-tenancy authority`: prints the service's own certificate authority (PEM), for those who call the service, and
 * to standard error the pin of the server's key. Creates them before the first start.
 */
export async function showAuthority(settings: TenancySettings, out: Output): Promise<number> {
  if (!settings.tls.own_authority)
    throw new CommandError('the service does not sign its own certificate: set tls.own_authority in the configuration');
  const sealer = createSealer(readKeyFile(settings.key_file));
  const host = publicHostOf(settings);
  const { authority, cert } = await withCurrentStore(settings, (store) =>
    ownIdentity({ store, sealer, host, now: Date.now() }),
  );
  out.error(`public key of the server, for curl --pinnedpubkey: ${pinOf(cert)}`);
  out.log(authority.trim());
  return 0;
}

/** `deployd-tenancy keys show`: prints the public keys (PEM) for a secretstore that cannot fetch them. */
export async function showKeys(settings: TenancySettings, out: Output): Promise<number> {
  const keyFile = readKeyFile(settings.key_file);
  const pems = await withCurrentStore(settings, async (store) => publicKeyPems(await openKeyRing(store, keyFile)));
  out.log(pems.map((pem) => pem.trim()).join('\n'));
  return 0;
}

/**
 * `deployd-tenancy keys rewrap`: replaces the key file, and encrypts with the new one all that the old one encrypts. No
 * instance may be serving. The next run finishes an interrupted one.
 */
export async function rewrap(settings: TenancySettings, out: Output): Promise<number> {
  const { key_file: file } = settings;
  const release = lockStore(settings);
  try {
    const from = readKeyFile(file);
    const to = await ensureKeyFile(`${file}.next`);
    await withCurrentStore(settings, async (store) => {
      // An interrupted run may have encrypted everything already.
      if (await isOpenedBy(store, to)) return;
      await openKeyRing(store, from);
      await store.transaction().execute((work) => reseal(work, { from, to }));
    });
    const previous = `${file}.before-${new Date().toISOString().replaceAll(':', '')}`;
    await link(file, previous);
    await rename(`${file}.next`, file);
    await syncDirectory(dirname(file));
    out.log(`${file} is new: copy it to the other instances, and apart from the backups, then start the service`);
    out.log(`${previous} is the previous one: it decrypts earlier backups, so destroy it together with them`);
    return 0;
  } finally {
    release();
  }
}

async function isOpenedBy(store: Store, keyFile: Uint8Array): Promise<boolean> {
  try {
    await openKeyRing(store, keyFile);
    return true;
  } catch (error) {
    if (error instanceof KeyError) return false;
    throw error;
  }
}

/** Encrypts everything in the store with another key file, except sessions: people sign in again. */
async function reseal(work: Store, keyFiles: { from: Uint8Array; to: Uint8Array }): Promise<void> {
  await resealKeys(work, keyFiles);
  await renewKeys(work, keyFiles);
  const sealers = { from: createSealer(keyFiles.from), to: createSealer(keyFiles.to) };
  await resealWebhooks(work, sealers);
  await resealCertificates(work, sealers);
  await deleteAllSessions(work);
  const entry = auditEntry({ clock: Date.now }, byService('service.rewrap'), { target: 'key file', env: null });
  await addAuditEntry(work, entry);
}

/** `deployd-tenancy secretstore discard ENV`: removes the secrets of an environment, which needs no key file. */
export async function discardSecrets(settings: TenancySettings, env: string, out: Output): Promise<number> {
  const isKnown = await withCurrentStore(settings, async (store) => {
    if (!(await removeSecrets({ store }, env))) return false;
    const entry = auditEntry({ clock: Date.now }, byService('service.discardSecrets'), { target: env, env });
    await addAuditEntry(store, entry);
    return true;
  });
  if (!isKnown) throw new CommandError(`the embedded secretstore has no secrets of ${env}`);
  out.log(`the secrets of ${env} are removed: set them again`);
  return 0;
}
