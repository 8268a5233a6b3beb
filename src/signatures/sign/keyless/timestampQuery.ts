import { createHash, randomBytes } from 'node:crypto';
import { der, objectIdentifier, octetString, sequence, smallInteger } from './der.ts';

const sha256 = sequence(objectIdentifier('608648016503040201'), der(0x05));
const certificateWanted = der(0x01, Buffer.of(0xff));

/** The query of a timestamp over a signature (RFC 3161), in DER. */
export function timestampQuery(signature: Buffer): Buffer {
  const imprint = sequence(sha256, octetString(createHash('sha256').update(signature).digest()));
  return sequence(smallInteger(1), imprint, nonce(), certificateWanted);
}

/** A positive integer of eight bytes. */
function nonce(): Buffer {
  return der(0x02, Buffer.of(0x40 | (randomBytes(1).readUInt8() & 0x3f)), randomBytes(7));
}
