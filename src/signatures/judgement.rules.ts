import type { Refusal } from '../../machines/refusals.ts';
import type { BundleClaim } from './trust.ts';

/** A signature that is genuine, by somebody who is trusted, of the archive. */
export interface VerifiedSignature {
  /** `key SHA256:…`, or subject and issuer of an identity. */
  signer: string;
  claim: BundleClaim;
}

/** The genuine signatures, and why each of the others is not accepted. */
export interface Verification {
  verified: VerifiedSignature[];
  faults: string[];
}

/** The signers of a bundle, and the refusal if they are too few. */
export interface SignatureJudgement {
  signers: string[];
  refusal: Refusal | null;
}

/**
 * Compares the claims of genuine signatures with the manifest: a signature of another environment, version or sequence
 * does not count (spec §18).
 */
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

/** The signers whose claim is true of the manifest, each once, sorted. */
export function signersOf(verified: readonly VerifiedSignature[], manifest: BundleClaim): string[] {
  const truthful = verified.filter(({ claim }) => falseFieldOf(claim, manifest) === null);
  return [...new Set(truthful.map(({ signer }) => signer))].sort();
}

/** The first field of a claim that is not as in the manifest; null when the claim is true. */
export function falseFieldOf(claim: BundleClaim, manifest: BundleClaim): keyof BundleClaim | null {
  return (['name', 'env', 'version', 'sequence'] as const).find((field) => claim[field] !== manifest[field]) ?? null;
}

/** The result of verifying the signatures of a bundle or an image. */
interface SignatureVerdict {
  /** How many different signers are demanded. */
  threshold: number;
  /** The signers, each once. */
  signers: readonly string[];
  /** How many signatures there are. */
  count: number;
  /** Why each of the others is not accepted, and which files of the trust cannot be used. */
  faults: readonly string[];
}

const maxFaults = 10;

/** SIGNATURE_REFUSED unless enough signers signed a bundle (spec §9, §18). */
export function signatureRefusal(verdict: SignatureVerdict): Refusal | null {
  const detail = missingSignatures(verdict, 'trust.bundles');
  return detail === null ? null : { code: 'SIGNATURE_REFUSED', detail };
}

/** The missing part of the signatures that a trust requires, with up to ten faults; null if enough signers signed. */
export function missingSignatures(
  { threshold, signers, count, faults }: SignatureVerdict,
  trust: string,
): string | null {
  if (signers.length >= threshold) return null;
  const found = count === 0 ? 'there is no signature' : signedBy(signers);
  const more = faults.length > maxFaults ? [`and ${faults.length - maxFaults} more`] : [];
  const demand = `${found}, and ${threshold === 1 ? 'a signature by one' : `signatures by ${threshold}`} of ${trust} must be`;
  return [demand, ...faults.slice(0, maxFaults), ...more].join('; ');
}

function signedBy(signers: readonly string[]): string {
  return signers.length === 0 ? 'nobody who is trusted has signed' : `only ${signers.join(', ')} signed`;
}

/** Why one signature is not accepted; the message is the reason, in printable text. */
export class SignatureFault extends Error {
  override name = 'SignatureFault';
}
