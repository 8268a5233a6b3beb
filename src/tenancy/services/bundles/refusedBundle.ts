import type { Refusal } from '../../../../machines/refusals.ts';
import { ApiError } from '../apiError.ts';

/** The answer 422 with why a bundle cannot be used, in the words of the agent; `env` for the audit log. */
export function refusedBundle(refusals: Refusal[], env?: string): ApiError {
  const [first] = refusals;
  const { code, detail } = first ?? { code: 'MANIFEST_INVALID', detail: '' };
  return new ApiError({ status: 422, code, message: detail, refusals, ...(env !== undefined && { env }) });
}
