import { createPublicKey, sign, type KeyObject } from 'node:crypto';
import { bitString, der, objectIdentifier, sequence, smallInteger } from './der.ts';

/** ecdsa-with-SHA256. */
const ecdsaWithSha256 = sequence(objectIdentifier('2a8648ce3d040302'));

/**
 * The request of a certificate for a key on P-256 (PKCS#10), in PEM. It proves that its sender holds the key, and names nobody:
 * whom the certificate is for is told by the identity token.
 */
export function certificateRequest(privateKey: KeyObject): string {
  const publicKey = createPublicKey(privateKey).export({ type: 'spki', format: 'der' });
  const info = sequence(smallInteger(0), sequence(), publicKey, der(0xa0));
  const request = sequence(info, ecdsaWithSha256, bitString(sign('sha256', info, privateKey)));
  const lines = request.toString('base64').replaceAll(/.{1,64}/g, '$&\n');
  return `-----BEGIN CERTIFICATE REQUEST-----\n${lines}-----END CERTIFICATE REQUEST-----\n`;
}
