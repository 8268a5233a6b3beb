import type { KeyObject } from 'node:crypto';
import { isBundleWithDsseEnvelope, type Bundle } from '@sigstore/bundle';
import { crypto, dsse } from '@sigstore/core';
import { toSignedEntity, type SignedEntity } from '@sigstore/verify';

/** Digests with which cosign 3 signs by keys on these curves; cosign 2, as the library, knows SHA-256 only. */
const curveDigests: Record<string, string> = { secp384r1: 'sha384', secp521r1: 'sha512' };

/** What the library verifies of a Sigstore bundle; its signature may be made with the digest that fits the curve of the key. */
export function signedEntityOf(bundle: Bundle): SignedEntity {
  const entity = toSignedEntity(bundle);
  if (!isBundleWithDsseEnvelope(bundle)) return entity;
  const { payloadType, payload } = bundle.content.dsseEnvelope;
  const signed = dsse.preAuthEncoding(payloadType, payload);
  const { signature } = entity;
  const isByCurve = (key: KeyObject) => {
    const digest = curveDigests[key.asymmetricKeyDetails?.namedCurve ?? ''];
    return digest !== undefined && crypto.verify(signed, key, signature.signature, digest);
  };
  return {
    ...entity,
    signature: {
      signature: signature.signature,
      compareSignature: (other) => signature.compareSignature(other),
      compareDigest: (digest) => signature.compareDigest(digest),
      compareSignedDigest: (digest) => signature.compareSignedDigest(digest),
      verifySignature: (key) => signature.verifySignature(key) || isByCurve(key),
    },
  };
}
