/** Media type of a signature that is made: a Sigstore bundle v0.3. */
export const bundleMediaType = 'application/vnd.dev.sigstore.bundle.v0.3+json';

/** The same in its older spelling, which is read too. */
export const olderBundleMediaType = 'application/vnd.dev.sigstore.bundle+json;version=0.3';

/** Payload type of the envelope of an in-toto statement. */
export const statementType = 'application/vnd.in-toto+json';

/** The predicate type of a statement about a bundle. */
export const predicateType = 'urn:deployd:bundle:v1';

/** The predicate type of cosign's statement about an image. */
export const imagePredicateType = 'https://sigstore.dev/cosign/sign/v1';

/** A signature of an image as its registry keeps it; nothing of it is verified. */
export type ImageSignature = SimpleSignature | { bundle: Buffer };

/** As cosign 2 writes it: the signed payload, and beside it, in annotations, what the signature is and who made it. */
export interface SimpleSignature {
  payload: Buffer;
  annotations: Readonly<Record<string, unknown>>;
}
