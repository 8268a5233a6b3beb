import type { BundleClaim, BundleTrust } from '../../signatures/trust.ts';
import { falseFieldOf, SignatureFault, signersOf } from '../../signatures/judgement.rules.ts';
import { statementOf } from '../../signatures/readSignature.ts';
import { verifySignatures } from '../../signatures/verifySignatures.ts';

/** What a signature has to be of. Loads the library for signatures: import this file where one is judged. */
export type SignedBundle = BundleClaim & { sha256: string };

/** Throws a SignatureFault unless a signature says what is true of a bundle; whether it is genuine is not asked. */
export function requireTruth(signature: unknown, bundle: SignedBundle): void {
  const { sha256, claim } = statementOf(signature);
  if (sha256 !== bundle.sha256) throw new SignatureFault(`it is of another archive (${sha256})`);
  const field = falseFieldOf(claim, bundle);
  if (field !== null) throw new SignatureFault(`its ${field} differs from the manifest`);
}

/** Who has made a signature of a bundle; throws a SignatureFault if it is not genuine, or of nobody who is trusted. */
export function requireSigner(signature: unknown, bundle: SignedBundle, trust: BundleTrust): string {
  const { verified, faults } = verifySignatures(trust, bundle.sha256, [signature]);
  const [signer] = signersOf(verified, bundle);
  if (signer !== undefined) return signer;
  throw new SignatureFault(faults[0]?.replace(/^signature 1: /, '') ?? 'it does not say what the manifest says');
}

/** As `requireSigner`; null instead of the fault. */
export function signerOf(signature: unknown, bundle: SignedBundle, trust: BundleTrust): string | null {
  try {
    return requireSigner(signature, bundle, trust);
  } catch (error) {
    if (error instanceof SignatureFault) return null;
    throw error;
  }
}

/** False for a trust whose root is none. */
export function isReadable(trust: BundleTrust): boolean {
  return verifySignatures(trust, '', []).faults.length === 0;
}
