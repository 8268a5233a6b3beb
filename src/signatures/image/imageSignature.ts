/** A signature of an image as its registry keeps it; nothing of it is verified. */
export type ImageSignature = SimpleSignature | { bundle: Buffer };

/** As cosign 2 writes it: the signed payload, and beside it, in annotations, what the signature is and who made it. */
export interface SimpleSignature {
  payload: Buffer;
  annotations: Readonly<Record<string, unknown>>;
}
