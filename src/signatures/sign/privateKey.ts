import { createPrivateKey, type KeyObject, scryptSync } from 'node:crypto';
import { type CosignKey, validateCosignKey } from '../signatureValidators.ts';

/** Asks for the password of a key; called for an encrypted one only. */
export type AskPassword = () => Promise<string>;

/**
 * Reads a private key in PEM: PKCS#8, PKCS#1 or SEC1, encrypted or not, or as cosign encrypts it. Returns the reason as
 * text if it is not one, or if the password is wrong.
 */
export async function readPrivateKey(pem: string, askPassword: AskPassword): Promise<KeyObject | string> {
  if (isCosignKey(pem)) return decryptCosignKey(pem, await askPassword());
  if (!privateKeyPem.test(pem)) return 'is not a private key in PEM (BEGIN PRIVATE KEY)';
  if (!encryptedPem.test(pem)) return parse({ key: pem }) ?? 'is a damaged private key';
  const passphrase = await askPassword();
  return parse({ key: pem, passphrase }) ?? 'cannot be decrypted: the password is wrong, or the key is damaged';
}

const privateKeyPem = /^-----BEGIN ((RSA|EC|ENCRYPTED) )?PRIVATE KEY-----\r?$/m;

/** Of PKCS#8, and of OpenSSL's older form. */
const encryptedPem = /^(-----BEGIN ENCRYPTED PRIVATE KEY-----\r?$|Proc-Type: 4,ENCRYPTED)/m;

function parse(pem: { key: string; passphrase?: string }): KeyObject | null {
  try {
    return createPrivateKey(pem);
  } catch {
    return null;
  }
}

type Sodium = typeof import('libsodium-wrappers');

const pemForm = /-----BEGIN ENCRYPTED (SIGSTORE|COSIGN) PRIVATE KEY-----([^-]+)-----END ENCRYPTED \1 PRIVATE KEY-----/;
const keyBytes = 32;

/** Four times the memory that cosign's own keys need. */
const maxMemoryBytes = 2 ** 28;

/** True for a private key as cosign writes it. */
export function isCosignKey(pem: string): boolean {
  return pemForm.test(pem);
}

/** Decrypts such a key. Returns the reason as text when it is damaged, or the password is wrong. */
export async function decryptCosignKey(pem: string, password: string): Promise<KeyObject | string> {
  const key = parseCosignKey(pem);
  if (key === null) return 'is a damaged private key of cosign';
  const { default: loaded } = await import('libsodium-wrappers');
  const sodium = loaded as unknown as Sodium;
  await sodium.ready;
  try {
    const secret = deriveKey(key.kdf, password);
    const [box, nonce] = [bytesOf(key.ciphertext), bytesOf(key.cipher.nonce)];
    const pkcs8 = Buffer.from(sodium.crypto_secretbox_open_easy(box, nonce, secret));
    return createPrivateKey({ key: pkcs8, format: 'der', type: 'pkcs8' });
  } catch {
    return 'cannot be decrypted: the password is wrong, or the key is damaged';
  }
}

function parseCosignKey(pem: string): CosignKey | null {
  try {
    const json: unknown = JSON.parse(bytesOf(pemForm.exec(pem)?.[2] ?? '').toString('utf8'));
    return validateCosignKey(json) ? json : null;
  } catch {
    return null;
  }
}

/**
 * Throws for a cost that needs too much memory (RFC 7914). OpenSSL is not asked: the error that it leaves in its queue
 * would fail the next key that this process reads.
 */
function deriveKey({ params: { N, r, p }, salt }: CosignKey['kdf'], password: string): Buffer {
  if (128 * r * (N + p + 2) > maxMemoryBytes) throw new RangeError();
  return scryptSync(password, bytesOf(salt), keyBytes, { N, r, p, maxmem: maxMemoryBytes });
}

function bytesOf(base64: string): Buffer {
  return Buffer.from(base64, 'base64');
}
