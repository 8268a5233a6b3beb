import type { BundleClaim, BundleTrust } from '../../signatures/trust.ts';
import { falseFieldOf, SignatureFault, signersOf } from '../../signatures/judgement.rules.ts';
import { statementOf } from '../../signatures/readSignature.ts';
import { openVerifier, verifySignatures } from '../../signatures/verifySignatures.ts';

/**
 * The bundle that a signature must sign. This file loads the library for signatures: import it only where signatures
 * are verified.
 */
export type SignedBundle = BundleClaim & { sha256: string };

/**
 * Throws a SignatureFault unless the claims of a signature match the bundle; does not verify that the signature is
 * genuine.
 */
export function requireTruth(signature: unknown, bundle: SignedBundle): void {
  const { sha256, claim } = statementOf(signature);
  if (sha256 !== bundle.sha256) throw new SignatureFault(`it is of another archive (${sha256})`);
  const field = falseFieldOf(claim, bundle);
  if (field !== null) throw new SignatureFault(`its ${field} differs from the manifest`);
}

/**
 * Returns the signer of a bundle's signature; throws a SignatureFault if the signature is not genuine or its signer is
 * not trusted.
 */
export function requireSigner(signature: unknown, bundle: SignedBundle, trust: BundleTrust): string {
  const { verified, faults } = verifySignatures(trust, bundle.sha256, [signature]);
  const [signer] = signersOf(verified, bundle);
  if (signer !== undefined) return signer;
  throw new SignatureFault(faults[0]?.replace(/^signature 1: /, '') ?? 'it does not say what the manifest says');
}

/** Like `requireSigner`, but returns null instead of throwing the fault. */
export function signerOf(signature: unknown, bundle: SignedBundle, trust: BundleTrust): string | null {
  try {
    return requireSigner(signature, bundle, trust);
  } catch (error) {
    if (error instanceof SignatureFault) return null;
    throw error;
  }
}

/** False if the root of the trust cannot be used. */
export function isReadable(trust: BundleTrust): boolean {
  return typeof openVerifier(trust) !== 'string';
}
