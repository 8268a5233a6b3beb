import { createCipheriv, createDecipheriv, createPublicKey, randomBytes, randomUUID } from 'node:crypto';
import {
  calculateJwkThumbprint,
  compactVerify,
  type CryptoKey,
  errors,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importJWK,
  importPKCS8,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose';
import type { SigningKeyRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { backendPrefix, serviceRole } from './secretstoreRoles.rules.ts';

/** Signs with ECDSA on P-256, which OpenBao, Vault and all JOSE libraries support. */
export const algorithm = 'ES256';

/** The keys of the service at one moment; `FollowedKeyRing` reads them again. */
export interface KeyRing {
  /** Returns the current signing key with its id. */
  signer: (now: number) => { kid: string; key: CryptoKey };
  /** Returns the public keys that verify all signatures that are still valid (RFC 7517). */
  jwks: () => { keys: JWK[] };
}

/** Reads the keys of the store. Throws KeyError if the key file does not match. */
export async function openKeyRing(store: Store, keyFile: Uint8Array): Promise<KeyRing> {
  const rows = await listSigningKeys(store);
  const keys = await Promise.all(rows.map(async (row) => ({ ...row, key: await openKey(row, keyFile) })));
  return {
    signer: (now) => signingKey(keys, now),
    jwks: () => ({ keys: rows.map(({ public_jwk }) => JSON.parse(public_jwk) as JWK) }),
  };
}

/** Returns the public keys in PEM, for a secretstore that cannot fetch the list. */
export function publicKeyPems(keys: KeyRing): string[] {
  return keys.jwks().keys.map((key) => createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }));
}

/** Returns the claims of a JWT that one of the keys has signed with ES256; null for any other. Checks no claim. */
export async function verifiedClaims(keys: KeyRing, jwt: string): Promise<Record<string, unknown> | null> {
  for (const jwk of keys.jwks().keys) {
    try {
      const { payload } = await compactVerify(jwt, await importJWK(jwk, algorithm), { algorithms: [algorithm] });
      const claims: unknown = JSON.parse(Buffer.from(payload).toString('utf8'));
      return typeof claims === 'object' && !Array.isArray(claims) ? (claims as Record<string, unknown> | null) : null;
    } catch (error) {
      if (!(error instanceof errors.JOSEError || error instanceof SyntaxError)) throw error;
    }
  }
  return null;
}

/** Adds a key that signs from the given time. Returns its id. */
export async function addKey(store: Store, keyFile: Uint8Array, activeFrom: number): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  const public_jwk = JSON.stringify({ ...jwk, kid, alg: algorithm, use: 'sig' });
  const sealed_key = seal(keyFile, kid, await exportPKCS8(privateKey));
  await addSigningKey(store, { kid, active_from: activeFrom, public_jwk, sealed_key });
  return kid;
}

/** Deletes the keys whose signatures have all expired; only `keys rotate` does so. */
export async function deleteExpiredKeys(store: Store, now: number): Promise<void> {
  const expired = expiredKeys(await listSigningKeys(store), now);
  if (expired.length > 0) await deleteSigningKeys(store, expired);
}

async function openKey({ kid, sealed_key }: SigningKeyRow, keyFile: Uint8Array): Promise<CryptoKey> {
  const pem = unseal(keyFile, kid, sealed_key);
  if (pem === null) throw new KeyError(`the key file is not the one that encrypted the signing key ${kid}`);
  return importPKCS8(pem, algorithm);
}

/** Bytes of a key file; every instance of the service has the same file. */
export const KEY_FILE_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Encrypts a text (AES-256-GCM); `unseal` needs the same `name`. Returns base64. */
export function seal(keyFile: Uint8Array, name: string, text: string): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', keyFile, nonce).setAAD(Buffer.from(name));
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString('base64');
}

/** Decrypts the output of `seal`; returns null if the key file, the name or any byte differs. */
export function unseal(keyFile: Uint8Array, name: string, sealed: string): string | null {
  const bytes = Buffer.from(sealed, 'base64');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', keyFile, bytes.subarray(0, NONCE_BYTES))
    .setAAD(Buffer.from(name))
    .setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

const MINUTE_MS = 60_000;
/**
 * Milliseconds for which a new key is published before it signs: longer than instances and the secretstore cache the
 * old list.
 */
export const PUBLISHED_AHEAD_MS = 10 * MINUTE_MS;
/** The longest lifetime of a signature: the lifetime of a grant. */
export const LONGEST_LIFE_MS = 24 * 60 * MINUTE_MS;

type KeyTime = Pick<SigningKeyRow, 'kid' | 'active_from'>;

/**
 * The key that signs: the one that became active last. If all become active later, for example after the clock was set
 * back, the first one. Throws KeyError if there is no key.
 */
function signingKey<Key extends KeyTime>(keys: Key[], now: number): Key {
  const ordered = keys.toSorted(byTime);
  const signing = ordered.findLast(({ active_from }) => active_from <= now) ?? ordered[0];
  if (signing === undefined) throw new KeyError('there is no signing key: run sudo deployd-tenancy init');
  return signing;
}

/** Ids of keys that were replaced longer ago than any of their signatures is valid. */
function expiredKeys(keys: KeyTime[], now: number): string[] {
  const ordered = keys.toSorted(byTime);
  return ordered
    .filter((_, index) => {
      const next = ordered[index + 1];
      return next !== undefined && next.active_from + LONGEST_LIFE_MS < now;
    })
    .map(({ kid }) => kid);
}

function byTime(one: KeyTime, other: KeyTime): number {
  return one.active_from - other.active_from;
}

/** The signing keys cannot be used; the message describes the operator's next step. */
export class KeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyError';
  }
}

/** Milliseconds between two reads of the signing keys; a new key is published for longer than this before it signs. */
const LOOK_EVERY_MS = 60_000;

/** The signing keys of a store, including rotations by other processes. */
export interface FollowedKeyRing {
  /** Returns the keys as they were last read. */
  current: () => KeyRing;
  /** Stops following the keys, after a read in progress has finished. */
  stop: () => Promise<void>;
}

/** How to open the keys, and a callback for failed reads; the keys stay unchanged after a failure. */
interface KeyRingSource {
  store: Store;
  keyFile: Uint8Array;
  onError: (error: unknown) => void;
}

/** Reads the signing keys now and then at intervals. Throws KeyError if the key file does not match. */
export async function followKeyRing(
  { store, keyFile, onError }: KeyRingSource,
  everyMs = LOOK_EVERY_MS,
): Promise<FollowedKeyRing> {
  let keys = await openKeyRing(store, keyFile);
  let looking = Promise.resolve();
  const look = async () => {
    try {
      keys = await openKeyRing(store, keyFile);
    } catch (error) {
      onError(error);
    }
  };
  const timer = setInterval(() => void (looking = looking.then(look)), everyMs).unref();
  return {
    current: () => keys,
    stop: async () => {
      clearInterval(timer);
      await looking;
    },
  };
}

/** Encrypts data in the store or in a browser with the key file; `name` binds a text to its purpose. */
export interface Sealer {
  seal: (name: string, text: string) => string;
  /** Returns null for a text that was not sealed with this key file and name. */
  unseal: (name: string, sealed: string) => string | null;
}

/** A sealer by a key file. */
export function createSealer(keyFile: Uint8Array): Sealer {
  return {
    seal: (name, text) => seal(keyFile, name, text),
    unseal: (name, sealed) => unseal(keyFile, name, sealed),
  };
}

/** Stores a new signing key. */
async function addSigningKey(store: Store, row: SigningKeyRow): Promise<void> {
  await store.insertInto('signing_keys').values(row).execute();
}

/** All signing keys, in the order in which they become active. */
export function listSigningKeys(store: Store): Promise<SigningKeyRow[]> {
  return store.selectFrom('signing_keys').selectAll().orderBy('active_from').orderBy('kid').execute();
}

/** Encrypts all signing keys with another key file. Throws KeyError unless the first one decrypts them. */
export async function resealKeys(work: Store, { from, to }: { from: Uint8Array; to: Uint8Array }): Promise<void> {
  for (const { kid, sealed_key } of await listSigningKeys(work)) {
    const pem = unseal(from, kid, sealed_key);
    if (pem === null) throw new KeyError(`the key file is not the one that encrypted the signing key ${kid}`);
    await work
      .updateTable('signing_keys')
      .set({ sealed_key: seal(to, kid, pem) })
      .where('kid', '=', kid)
      .execute();
  }
}

/** Deletes signing keys. */
export async function deleteSigningKeys(store: Store, kids: string[]): Promise<void> {
  await store.deleteFrom('signing_keys').where('kid', 'in', kids).execute();
}

/** Deletes all signing keys, so that none of their signatures is valid any more. */
export async function deleteAllSigningKeys(work: Store): Promise<void> {
  await work.deleteFrom('signing_keys').execute();
}

/** The backend that a grant or a lease describes. */
export interface GrantSubject {
  id: string;
  env: string;
  generation: number;
}

/** Audience and lifetime of a JWT. */
interface GrantTerms {
  /** Base URL of this service. */
  issuer: string;
  /** Audience that the secretstore's role requires. */
  audience: string;
  lifetimeS: number;
  /** Milliseconds since 1970. */
  now: number;
}

/** A signed JWT with its expiry, in RFC 3339. */
export interface Grant {
  jwt: string;
  expiresAt: string;
}

/** Signs a JWT with which a backend logs in to the secretstore: a bootstrap grant or a lease. */
export async function signGrant(
  keys: KeyRing,
  { id, env, generation }: GrantSubject,
  terms: GrantTerms,
): Promise<Grant> {
  // The mount copies only strings into the metadata of a token.
  const claims = { env, gen: String(generation) };
  return sign(keys, { claims, subject: `${backendPrefix}${id}` }, terms);
}

/** Signs a JWT with which this service logs in to the secretstore. */
export async function signServiceLogin(keys: KeyRing, terms: GrantTerms): Promise<Grant> {
  return sign(keys, { claims: {}, subject: serviceRole.subject }, terms);
}

async function sign(
  keys: KeyRing,
  { claims, subject }: { claims: JWTPayload; subject: string },
  { issuer, audience, lifetimeS, now }: GrantTerms,
): Promise<Grant> {
  const { kid, key } = keys.signer(now);
  const issuedS = Math.floor(now / 1000);
  const jwt = await new SignJWT(claims)
    .setProtectedHeader({ alg: algorithm, kid, typ: 'JWT' })
    .setIssuer(issuer)
    .setAudience(audience)
    .setSubject(subject)
    .setJti(randomUUID())
    .setIssuedAt(issuedS)
    .setExpirationTime(issuedS + lifetimeS)
    .sign(key);
  return { jwt, expiresAt: new Date((issuedS + lifetimeS) * 1000).toISOString() };
}
