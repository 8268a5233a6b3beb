import type { BundleClaim } from './bundleTrust.ts';
import type { VerifiedSignature } from './verifySignatures.ts';

/** The signers whose claim is true of the manifest, each once, sorted. */
export function signersOf(verified: readonly VerifiedSignature[], manifest: BundleClaim): string[] {
  const truthful = verified.filter(({ claim }) => falseFieldOf(claim, manifest) === null);
  return [...new Set(truthful.map(({ signer }) => signer))].sort();
}

/** The first field of a claim that is not as in the manifest; null when the claim is true. */
export function falseFieldOf(claim: BundleClaim, manifest: BundleClaim): keyof BundleClaim | null {
  return (['name', 'env', 'version', 'sequence'] as const).find((field) => claim[field] !== manifest[field]) ?? null;
}
