import { createPublicKey } from 'node:crypto';
import {
  calculateJwkThumbprint,
  exportJWK,
  exportPKCS8,
  generateKeyPair,
  importPKCS8,
  type CryptoKey,
  type JWK,
} from 'jose';
import type { SigningKeyRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { addSigningKey, deleteSigningKeys, listSigningKeys } from '../store/signingKeys.ts';
import { KeyError } from './keyError.ts';
import { seal, unseal } from './keyFile.ts';
import { expiredKeys, signingKey } from './keyRotation.ts';

/** Signs with ECDSA on P-256, which OpenBao, Vault and every JOSE library know. */
export const algorithm = 'ES256';

/** The keys of the service; each instance reads them anew once a minute. */
export interface KeyRing {
  /** The key that signs now, with its id. */
  signer: (now: number) => { kid: string; key: CryptoKey };
  /** The public keys by which anything signed that is still valid can be verified (RFC 7517). */
  jwks: () => { keys: JWK[] };
}

/** Reads the keys of the store. Throws KeyError if the key file does not fit. */
export async function openKeyRing(store: Store, keyFile: Uint8Array): Promise<KeyRing> {
  const rows = await listSigningKeys(store);
  const keys = await Promise.all(rows.map(async (row) => ({ ...row, key: await openKey(row, keyFile) })));
  return {
    signer: (now) => signingKey(keys, now),
    jwks: () => ({ keys: rows.map(({ public_jwk }) => JSON.parse(public_jwk) as JWK) }),
  };
}

/** The public keys in PEM, for who cannot fetch the list. */
export function publicKeyPems(keys: KeyRing): string[] {
  return keys.jwks().keys.map((key) => createPublicKey({ key, format: 'jwk' }).export({ type: 'spki', format: 'pem' }));
}

/** Adds a key that signs from a time on. Returns its id. */
export async function addKey(store: Store, keyFile: Uint8Array, activeFrom: number): Promise<string> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(publicKey);
  const kid = await calculateJwkThumbprint(jwk);
  const public_jwk = JSON.stringify({ ...jwk, kid, alg: algorithm, use: 'sig' });
  const sealed_key = seal(keyFile, kid, await exportPKCS8(privateKey));
  await addSigningKey(store, { kid, active_from: activeFrom, public_jwk, sealed_key });
  return kid;
}

/** Deletes the keys by which nothing that is valid can have been signed. */
export async function deleteExpiredKeys(store: Store, now: number): Promise<void> {
  const expired = expiredKeys(await listSigningKeys(store), now);
  if (expired.length > 0) await deleteSigningKeys(store, expired);
}

async function openKey({ kid, sealed_key }: SigningKeyRow, keyFile: Uint8Array): Promise<CryptoKey> {
  const pem = unseal(keyFile, kid, sealed_key);
  if (pem === null) throw new KeyError(`the key file is not the one that encrypted the signing key ${kid}`);
  return importPKCS8(pem, algorithm);
}
