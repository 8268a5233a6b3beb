import { refusedFault, type Fault } from '../../machines/fault.ts';
import { signatureLimits } from './signatureLimits.ts';

const { count, bytes } = signatureLimits;

/** Largest answer of signatures in bytes: a JSON array of as many as there may be, and a line end. */
export const maxSignatureListBytes = count * (bytes + 1) + 2;

/** The fault of an answer that is larger. */
export function signaturesTooLarge(): Fault {
  return notSignatures(`the answer of the tenancy service is larger than ${count} signatures of ${bytes} bytes`);
}

/** The signatures of an answer, not verified yet. Throws SIGNATURE_REFUSED for what is no list, or too much of one. */
export function parseSignatureList(json: unknown): unknown[] {
  if (!Array.isArray(json)) throw notSignatures('the answer of the tenancy service is not a list of signatures');
  if (json.length > count) throw notSignatures(`the answer of the tenancy service has more than ${count} signatures`);
  const large = json.findIndex((signature) => !isWithinBound(signature));
  if (large >= 0) throw notSignatures(`signature ${large + 1} has more than ${bytes} bytes`);
  return json as unknown[];
}

/** What is verified of a signature grows faster than its size; what is nested too deep to be written is none either. */
function isWithinBound(signature: unknown): boolean {
  try {
    return Buffer.byteLength(JSON.stringify(signature)) <= bytes;
  } catch {
    return false;
  }
}

function notSignatures(detail: string): Fault {
  return refusedFault([{ code: 'SIGNATURE_REFUSED', detail }]);
}
