/** One reason to refuse a bundle, in the agent's words. */
interface BundleRefusal {
  code: string;
  detail: string;
}

/** An error of the API: the status, `code` and `message` of its body (spec §10), and further fields of some errors. */
export interface ApiErrorFields {
  status: number;
  code: string;
  message: string;
  /** Seconds after which the caller may try again. */
  retryAfterS?: number;
  /** Reasons why a bundle was refused. */
  refusals?: readonly BundleRefusal[];
  /** Environment of the call, for the audit log only. */
  env?: string;
  /** The code for the audit log, if the caller may not know the reason. */
  auditCode?: string;
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

/** An object that a call names. */
export type Thing =
  'archive' | 'backend' | 'bundle' | 'env' | 'operator' | 'rollout' | 'secret' | 'session' | 'webhook';

/** The 404 error for a missing object, such as `BACKEND_NOT_FOUND` for a backend. */
export function notFound(thing: Thing): ApiError {
  const code = `${thing.toUpperCase()}_NOT_FOUND`;
  return new ApiError({ status: 404, code, message: `there is no such ${thing === 'env' ? 'environment' : thing}` });
}

/** The error for a caller that has disconnected. */
export function requestAborted(): ApiError {
  return new ApiError({ status: 400, code: 'REQUEST_ABORTED', message: 'the caller has disconnected' });
}

/** The 409 error for an action that the current state does not allow. */
export function conflict({ code, message, env }: { code: string; message: string; env: string }): ApiError {
  return new ApiError({ status: 409, code, message, env });
}

/** Range of seconds over which refused callers are spread. */
const SPREAD_S = { from: 5, to: 60 };

/** The 503 error for a caller beyond the limit; each caller gets a different retry time. */
export function overloaded(message: string): ApiError {
  const { from, to } = SPREAD_S;
  const retryAfterS = from + Math.floor(Math.random() * (to - from + 1));
  return new ApiError({ status: 503, code: 'OVERLOADED', message, retryAfterS });
}
