import type { Refusal } from '../../machines/refusals.ts';
import type { BundleClaim } from './bundleTrust.ts';
import { signatureRefusal } from './signatureRefusal.ts';
import { falseFieldOf, signersOf } from './signersOf.ts';
import type { Verification } from './verifySignatures.ts';

/** Who signed a bundle, and the refusal where those are too few. */
export interface SignatureJudgement {
  signers: string[];
  refusal: Refusal | null;
}

/** Judges what genuine signatures claim by the manifest: a signature of another env, version or sequence counts for nothing (spec §18). */
export function judgeClaims(
  { verified, faults }: Verification,
  manifest: BundleClaim,
  threshold: number,
): SignatureJudgement {
  const lies = verified.flatMap(({ signer, claim }) => {
    const field = falseFieldOf(claim, manifest);
    return field === null ? [] : [`${signer} signed another ${field} than the manifest's`];
  });
  const signers = signersOf(verified, manifest);
  const count = verified.length + faults.length;
  return { signers, refusal: signatureRefusal({ threshold, signers, count, faults: [...lies, ...faults] }) };
}
