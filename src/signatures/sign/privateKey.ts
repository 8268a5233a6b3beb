import { createPrivateKey, type KeyObject } from 'node:crypto';
import { decryptCosignKey, isCosignKey } from './cosignKey.ts';

/** Asks for the password of a key; called for an encrypted one only. */
export type AskPassword = () => Promise<string>;

/**
 * Reads a private key in PEM: PKCS#8, PKCS#1 or SEC1, encrypted or not, or as cosign encrypts it. Returns the reason as text
 * when it is none, or the password is wrong.
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
