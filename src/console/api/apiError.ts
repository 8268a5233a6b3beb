import type { Refusal } from './types.ts';

/**
 * An answer of the API that tells why something was not done; with status 0
 * where there was no answer: `UNREACHABLE` where something was asked, `UNANSWERED` where something was to be done.
 */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly refusals: readonly Refusal[];

  constructor({ status, code, message, refusals = [] }: ApiErrorFields) {
    super(message);
    this.status = status;
    this.code = code;
    this.refusals = refusals;
  }
}

interface ApiErrorFields {
  status: number;
  code: string;
  message: string;
  refusals?: readonly Refusal[] | undefined;
}
