import { refusedFault, type Fault } from '../../machines/fault.ts';
import { signatureLimits } from './signatureLimits.ts';

const { count, bytes } = signatureLimits;

/** Largest answer of signatures in bytes: a JSON array of as many as there may be. */
export const maxSignatureListBytes = count * (bytes + 1) + 2;

/** The fault of an answer that is larger. */
export function signaturesTooLarge(): Fault {
  return notSignatures(`the answer of the tenancy service is larger than ${count} signatures of ${bytes} bytes`);
}

/** The signatures of an answer, not looked into yet. Throws SIGNATURE_REFUSED for what is no list, or too long a one. */
export function parseSignatureList(json: unknown): unknown[] {
  if (!Array.isArray(json)) throw notSignatures('the answer of the tenancy service is not a list of signatures');
  if (json.length > count) throw notSignatures(`the answer of the tenancy service has more than ${count} signatures`);
  return json as unknown[];
}

function notSignatures(detail: string): Fault {
  return refusedFault([{ code: 'SIGNATURE_REFUSED', detail }]);
}
