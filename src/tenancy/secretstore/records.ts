import { hash, randomBytes, randomUUID } from 'node:crypto';
import { KEY_FILE_BYTES, KeyError, seal, unseal } from '../keys/keyRing.ts';
import type { Database } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { isGone, mergePatch, type SecretVersion, type Token } from './secretstore.rules.ts';

/** The tables, the key file that protects their values, and the time in milliseconds since 1970. */
export interface SecretRecords {
  readonly store: Store;
  readonly keyFile: Uint8Array;
  readonly clock: () => number;
}

type SecretstoreKeyRow = Database['secretstore_keys'];
type SecretstoreVersionRow = Database['secretstore_versions'];
type SecretstoreTokenRow = Database['secretstore_tokens'];

/** The name of a secret in an environment. */
export interface SecretPlace {
  env: string;
  key: string;
}

/** Fields of a secret by name, of any JSON type. */
export type Fields = Record<string, unknown>;

/** Number of versions that are kept of each secret, as OpenBao does by default. */
const KEPT_VERSIONS = 10;

/** Reads a version, 0 for the newest; null if there is none. Its fields are null if it is deleted or destroyed. */
export async function readVersion(
  { store, keyFile }: SecretRecords,
  place: SecretPlace,
  version: number,
): Promise<{ found: SecretVersion; fields: Fields | null } | null> {
  const query = versionsOf(store, place).leftJoin('secretstore_keys', 'secretstore_keys.id', 'key_id');
  const row = await (version === 0 ? query.orderBy('version', 'desc') : query.where('version', '=', version))
    .select('wrapped')
    .selectAll('secretstore_versions')
    .limit(1)
    .executeTakeFirst();
  if (row === undefined) return null;
  const found = versionIn(row);
  const { sealed, key_id, wrapped } = row;
  if (isGone(found) || sealed === null) return { found, fields: null };
  const key = wrapped === null ? null : unwrap(keyFile, { id: key_id, env: place.env, wrapped });
  const text = key && unseal(key, valueName(place, found.version, key_id), sealed);
  if (text === null) throw undecryptable(place, found.version);
  return { found, fields: JSON.parse(text) as Fields };
}

/** Versions of a secret without their values, oldest first. */
export async function listVersions({ store }: Pick<SecretRecords, 'store'>, place: SecretPlace) {
  const rows = await versionsOf(store, place).selectAll().orderBy('version').execute();
  return rows.map(versionIn);
}

/** The newest versions of all secrets of an environment, sorted by name. */
export async function listNewest({ store }: Pick<SecretRecords, 'store'>, env: string) {
  const query = store.selectFrom('secretstore_versions').where('env', '=', env).groupBy('key');
  const rows = await query.select(({ fn }) => ['key', fn.max('version').as('version')]).execute();
  return rows.sort((one, other) => (one.key < other.key ? -1 : 1));
}

/** Result of a write: the new version, the version that a patch cannot change, or a version other than expected. */
export type Written = { written: SecretVersion } | { gone: SecretVersion | null } | 'differs';

/** A change of a secret. */
interface Change {
  fields: Fields;
  /** The version that must be the newest one; 0 if there must be none. */
  cas?: number | undefined;
  /**
   * `replace` writes these fields alone. `patch` keeps the others of the newest version, and writes nothing without
   * one that can be read; `merge` then writes these fields alone.
   */
  by: 'replace' | 'patch' | 'merge';
}

/** Writes a version of a secret. */
export function writeVersion(
  records: SecretRecords,
  place: SecretPlace,
  { fields, cas, by }: Change,
): Promise<Written> {
  const { store, keyFile, clock } = records;
  return store.transaction().execute(async (work): Promise<Written> => {
    const key = await lockKey(work, place.env, records);
    const newest = await readVersion({ ...records, store: work }, place, 0);
    const version = (newest?.found.version ?? 0) + 1;
    if (cas !== undefined && cas !== version - 1) return 'differs';
    const kept = by === 'replace' ? null : (newest?.fields ?? null);
    if (by === 'patch' && kept === null) return { gone: newest?.found ?? null };
    const text = JSON.stringify(kept === null ? fields : mergePatch(kept, fields));
    const bytes = unwrap(keyFile, key);
    if (bytes === null) throw wrongKeyFile([place.env]);
    const row: SecretstoreVersionRow = {
      ...{ ...place, version, key_id: key.id, created_at: clock(), deleted_at: null, destroyed: 0 },
      sealed: seal(bytes, valueName(place, version, key.id), text),
    };
    await work.insertInto('secretstore_versions').values(row).execute();
    const old = work.deleteFrom('secretstore_versions').where('env', '=', place.env).where('key', '=', place.key);
    await old.where('version', '<=', version - KEPT_VERSIONS).execute();
    return { written: versionIn(row) };
  });
}

/** Deletes versions so that it can be undone, undoes it, or destroys them: the encrypted value leaves the row. */
export async function changeVersions(
  { store, clock }: SecretRecords,
  place: SecretPlace,
  { act, versions }: { act: 'delete' | 'undelete' | 'destroy'; versions: readonly number[] | 'newest' },
): Promise<void> {
  await store.transaction().execute(async (work) => {
    const known = await listVersions({ store: work }, place);
    const chosen = versions === 'newest' ? known.slice(-1).map(({ version }) => version) : versions;
    for (const each of known.filter((one) => chosen.includes(one.version) && !one.isDestroyed)) {
      const change = work.updateTable('secretstore_versions').where('env', '=', place.env);
      const one = change.where('key', '=', place.key).where('version', '=', each.version);
      if (act === 'destroy') await one.set({ sealed: null, destroyed: 1 }).execute();
      else if (act === 'undelete') await one.set({ deleted_at: null }).execute();
      else if (each.deletedAt === null) await one.set({ deleted_at: clock() }).execute();
    }
  });
}

/** Removes a secret with all its versions; returns false if it does not exist. */
export async function removeSecret({ store }: Pick<SecretRecords, 'store'>, place: SecretPlace): Promise<boolean> {
  return store.transaction().execute(async (work) => {
    const { length } = await listVersions({ store: work }, place);
    const rows = work.deleteFrom('secretstore_versions').where('env', '=', place.env);
    await rows.where('key', '=', place.key).execute();
    return length > 0;
  });
}

/**
 * Removes all secrets of an environment together with the key that encrypted them; returns false if there is no key.
 * Needs no key file.
 */
export async function removeSecrets({ store }: Pick<SecretRecords, 'store'>, env: string): Promise<boolean> {
  return store.transaction().execute(async (work) => {
    const { numDeletedRows } = await work.deleteFrom('secretstore_keys').where('env', '=', env).executeTakeFirst();
    await work.deleteFrom('secretstore_versions').where('env', '=', env).execute();
    return numDeletedRows > 0n;
  });
}

/** Throws KeyError unless the key file decrypts the keys of all environments. */
export async function proveKeyFile({ store, keyFile }: Pick<SecretRecords, 'store' | 'keyFile'>): Promise<void> {
  const rows = await store.selectFrom('secretstore_keys').selectAll().orderBy('env').execute();
  const lost = rows.filter((row) => unwrap(keyFile, row) === null).map(({ env }) => env);
  if (lost.length > 0) throw wrongKeyFile(lost);
}

/**
 * Encrypts all values with new keys, and these with another key file: whoever has the old key file and an old copy of
 * the store cannot decrypt a newer copy. Throws KeyError unless the first key file decrypts the present keys.
 */
export async function renewKeys(work: Store, { from, to }: { from: Uint8Array; to: Uint8Array }): Promise<void> {
  for (const present of await work.selectFrom('secretstore_keys').selectAll().execute()) {
    const { id: oldId, env } = present;
    const old = unwrap(from, present);
    if (old === null) throw wrongKeyFile([env]);
    const [id, bytes] = [randomUUID(), randomBytes(KEY_FILE_BYTES)];
    const rows = await work.selectFrom('secretstore_versions').selectAll().where('env', '=', env).execute();
    for (const { key, version, sealed } of rows) {
      const place = { env, key };
      const text = sealed && unseal(old, valueName(place, version, oldId), sealed);
      if (sealed !== null && text === null) throw undecryptable(place, version);
      const changed = { key_id: id, sealed: text && seal(bytes, valueName(place, version, id), text) };
      const one = work.updateTable('secretstore_versions').set(changed).where('env', '=', env);
      await one.where('key', '=', key).where('version', '=', version).execute();
    }
    const renewed = { id, wrapped: wrap(to, { id, env, bytes }) };
    await work.updateTable('secretstore_keys').set(renewed).where('id', '=', oldId).execute();
  }
}

function undecryptable({ env, key }: SecretPlace, version: number): Error {
  return new Error(`version ${version} of ${env}/${key} cannot be decrypted`);
}

function wrongKeyFile(envs: readonly string[]): KeyError {
  return new KeyError(
    `the key file is not the one that encrypted the secrets of ${envs.join(', ')}: put the right one back. If it is lost, ` +
      'so are these secrets: run sudo deployd-tenancy secretstore discard ENV for each environment, then set them again',
  );
}

/** The key of an environment, which is created for its first secret. No other write or removal runs meanwhile. */
async function lockKey(work: Store, env: string, { keyFile }: SecretRecords): Promise<SecretstoreKeyRow> {
  // SQLite has no `for update`.
  const lock = () => {
    const same = work.updateTable('secretstore_keys').set((set) => ({ wrapped: set.ref('wrapped') }));
    return same.where('env', '=', env).returningAll().executeTakeFirst();
  };
  const present = await lock();
  if (present !== undefined) return present;
  const id = randomUUID();
  const wrapped = wrap(keyFile, { id, env, bytes: randomBytes(KEY_FILE_BYTES) });
  const add = work.insertInto('secretstore_keys').values({ id, env, wrapped });
  await add.onConflict((conflict) => conflict.column('env').doNothing()).execute();
  const created = await lock();
  if (created === undefined) throw new Error(`the key of ${env} was removed meanwhile`);
  return created;
}

function wrap(keyFile: Uint8Array, { id, env, bytes }: { id: string; env: string; bytes: Uint8Array }): string {
  return seal(keyFile, keyName({ id, env }), Buffer.from(bytes).toString('base64'));
}

function unwrap(keyFile: Uint8Array, row: Pick<SecretstoreKeyRow, 'id' | 'env' | 'wrapped'>): Buffer | null {
  const text = unseal(keyFile, keyName(row), row.wrapped);
  return text === null ? null : Buffer.from(text, 'base64');
}

/** Binds an encrypted key to its environment. */
function keyName({ id, env }: { id: string; env: string }): string {
  return JSON.stringify(['secretstore key', env, id]);
}

/** Binds an encrypted value to its place and version, so that no other value can take its place in the table. */
function valueName({ env, key }: SecretPlace, version: number, keyId: string): string {
  return JSON.stringify(['secretstore value', env, key, version, keyId]);
}

function versionsOf(store: Store, { env, key }: SecretPlace) {
  return store.selectFrom('secretstore_versions').where('secretstore_versions.env', '=', env).where('key', '=', key);
}

function versionIn(row: Omit<SecretstoreVersionRow, 'env' | 'key' | 'key_id' | 'sealed'>): SecretVersion {
  const { version, created_at: createdAt, deleted_at: deletedAt, destroyed } = row;
  return { version, createdAt, deletedAt, isDestroyed: destroyed === 1 };
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** A random text of letters and digits; each has almost six bits. */
function randomText(length: number): string {
  let text = '';
  // 248 is the largest multiple of 62 in a byte.
  while (text.length < length) for (const byte of randomBytes(length)) if (byte < 248) text += base62[byte % 62] ?? '';
  return text.slice(0, length);
}

/** Stores a new token; only its hash is stored. Returns the token. */
export async function addToken(
  { store }: Pick<SecretRecords, 'store'>,
  token: Omit<Token, 'accessor' | 'entityId' | 'renewedAt'>,
): Promise<{ id: string; token: Token }> {
  const id = `s.${randomText(24)}`;
  const row: SecretstoreTokenRow = {
    hash: hashOf(id),
    accessor: randomText(24),
    ...{ role: token.role, subject: token.subject, issued_at: token.issuedAt, expires_at: token.expiresAt },
    ...{ creation_ttl_s: token.creationTtlS, explicit_max_ttl_s: token.explicitMaxTtlS, renewed_at: null },
    meta: JSON.stringify(token.meta),
    policies: JSON.stringify(token.policies),
  };
  await store.insertInto('secretstore_tokens').values(row).execute();
  return { id, token: tokenIn(row) };
}

/** The live token of an id; null for any other text. */
export async function findToken({ store, clock }: Omit<SecretRecords, 'keyFile'>, id: string): Promise<Token | null> {
  if (id === '' || id.length > 100) return null;
  const query = store.selectFrom('secretstore_tokens').selectAll().where('hash', '=', hashOf(id));
  const row = await query.where('expires_at', '>', clock()).executeTakeFirst();
  return row === undefined ? null : tokenIn(row);
}

/** Sets the end of a token; returns false if it was revoked meanwhile. */
export async function extendToken(
  { store, clock }: Omit<SecretRecords, 'keyFile'>,
  accessor: string,
  expiresAt: number,
): Promise<boolean> {
  const change = store.updateTable('secretstore_tokens').set({ expires_at: expiresAt, renewed_at: clock() });
  const { numUpdatedRows } = await change.where('accessor', '=', accessor).executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Removes a token; returns false if there is none with this accessor. */
export async function removeToken({ store }: Pick<SecretRecords, 'store'>, accessor: string): Promise<boolean> {
  const { numDeletedRows } = await store
    .deleteFrom('secretstore_tokens')
    .where('accessor', '=', accessor)
    .executeTakeFirst();
  return numDeletedRows > 0n;
}

/** Removes the tokens that have expired. */
export async function removeExpiredTokens({ store, clock }: Omit<SecretRecords, 'keyFile'>): Promise<void> {
  await store.deleteFrom('secretstore_tokens').where('expires_at', '<=', clock()).execute();
}

function hashOf(id: string): string {
  return hash('sha256', id, 'base64');
}

function tokenIn(row: SecretstoreTokenRow): Token {
  const { accessor, role, subject, issued_at, expires_at, renewed_at } = row;
  return {
    ...{ accessor, role, subject, issuedAt: issued_at, expiresAt: expires_at, renewedAt: renewed_at },
    ...{ creationTtlS: row.creation_ttl_s, explicitMaxTtlS: row.explicit_max_ttl_s },
    meta: JSON.parse(row.meta) as Record<string, string>,
    policies: JSON.parse(row.policies) as string[],
    entityId: entityOf(subject),
  };
}

/** An id that is the same for all tokens of a subject, in the form of a UUID. */
function entityOf(subject: string): string {
  const hex = hash('sha256', `entity ${subject}`, 'hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}
