import type { Refusal } from '../../machines/refusals.ts';

/** What came out of the verification of the signatures of a bundle or an image. */
export interface SignatureVerdict {
  /** How many different signers are demanded. */
  threshold: number;
  /** Who signed, each once. */
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

/** What is missing of the signatures that a trust demands, with every fault, up to ten; null when enough signers signed. */
export function missingSignatures(
  { threshold, signers, count, faults }: SignatureVerdict,
  trust: 'trust.bundles' | 'trust.images',
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
