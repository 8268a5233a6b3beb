/** One refusal of a bundle at the door, in the words of the agent. */
export interface BundleRefusal {
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
