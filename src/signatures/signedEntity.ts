import type { KeyObject } from 'node:crypto';
import type { Bundle } from '@sigstore/bundle';
import { crypto, dsse } from '@sigstore/core';
import { toSignedEntity, type SignedEntity } from '@sigstore/verify';

/** Digests with which cosign 3 signs by keys on these curves; cosign 2, as the library, knows SHA-256 only. */
const curveDigests: Record<string, string> = { secp384r1: 'sha384', secp521r1: 'sha512' };

/**
 * What the library verifies of a Sigstore bundle; its signature may be made with the digest that fits the curve of the key, or
 * without one by Ed25519. `payload` is what a signature without an envelope is of.
 */
export function signedEntityOf(bundle: Bundle, payload: Buffer = Buffer.alloc(0)): SignedEntity {
  const entity = toSignedEntity(bundle, payload);
  const { signature } = entity;
  const signed = signedBytesOf(bundle, payload);
  const isByOwnDigest = (key: KeyObject) => {
    const digest = curveDigests[key.asymmetricKeyDetails?.namedCurve ?? ''];
    if (digest === undefined && key.asymmetricKeyType !== 'ed25519') return false;
    return crypto.verify(signed, key, signature.signature, digest);
  };
  return {
    ...entity,
    signature: {
      signature: signature.signature,
      compareSignature: (other) => signature.compareSignature(other),
      compareDigest: (digest) => signature.compareDigest(digest),
      compareSignedDigest: (digest) => signature.compareSignedDigest(digest),
      verifySignature: (key) => signature.verifySignature(key) || isByOwnDigest(key),
    },
  };
}

function signedBytesOf({ content }: Bundle, payload: Buffer): Buffer {
  if (content.$case === 'messageSignature') return payload;
  return dsse.preAuthEncoding(content.dsseEnvelope.payloadType, content.dsseEnvelope.payload);
}
