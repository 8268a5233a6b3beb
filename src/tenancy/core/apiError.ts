/** One refusal of a bundle at the door, in the words of the agent. */
interface BundleRefusal {
  code: string;
  detail: string;
}

/** An error of the API: the status, `code` and `message` of its error body (spec §10), and what some errors tell beside. */
export interface ApiErrorFields {
  status: number;
  code: string;
  message: string;
  /** Seconds after which the caller may try again. */
  retryAfterS?: number;
  /** Why a bundle was refused. */
  refusals?: readonly BundleRefusal[];
  /** Env of what the call is about, for the audit log; not told. */
  env?: string;
}

/** An answer other than success. */
export class ApiError extends Error {
  readonly fields: ApiErrorFields;

  constructor(fields: ApiErrorFields) {
    super(`${fields.code}: ${fields.message}`);
    this.name = 'ApiError';
    this.fields = fields;
  }
}

/** The answer where there is no such thing: `BACKEND_NOT_FOUND` for a backend. */
export function notFound(
  thing: 'backend' | 'bundle' | 'env' | 'operator' | 'rollout' | 'secret' | 'session' | 'webhook',
): ApiError {
  const code = `${thing.toUpperCase()}_NOT_FOUND`;
  return new ApiError({ status: 404, code, message: `there is no such ${thing}` });
}

/** The answer that nobody reads any more. */
export function requestAborted(): ApiError {
  return new ApiError({ status: 400, code: 'REQUEST_ABORTED', message: 'the caller has gone away' });
}

/** The answer where the state of something does not allow an act. */
export function conflict({ code, message, env }: { code: string; message: string; env: string }): ApiError {
  return new ApiError({ status: 409, code, message, env });
}

/** Callers that are refused are spread over so many seconds. */
const SPREAD_S = { from: 5, to: 60 };

/** The answer to a caller for whom there is no place; each is told another time to come again. */
export function overloaded(message: string): ApiError {
  const { from, to } = SPREAD_S;
  const retryAfterS = from + Math.floor(Math.random() * (to - from + 1));
  return new ApiError({ status: 503, code: 'OVERLOADED', message, retryAfterS });
}
