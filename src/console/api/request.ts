import type { Refusal } from './types.ts';

/** Milliseconds after which a call counts as unanswered; a slow network takes some seconds for the largest answer. */
const ANSWER_MS = 30_000;

/** A call of the API. */
interface ApiRequest {
  method?: 'POST' | 'PUT' | 'DELETE';
  body?: unknown;
  signal?: AbortSignal;
}

/** Calls the API by the session of this browser; the answer's body, undefined for none. Throws `ApiError`. */
export async function request<Answer>(path: string, { method, body, signal }: ApiRequest = {}): Promise<Answer> {
  const init: RequestInit = { method: method ?? 'GET', credentials: 'same-origin' };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'content-type': 'application/json' };
  }
  const { ok, status, text } = await answerTo(path, init, signal).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    const code = method === undefined ? 'UNREACHABLE' : 'UNANSWERED';
    throw new ApiError({ status: 0, code, message: 'the service does not answer' });
  });
  const answer = text === '' ? undefined : parse(text);
  if (ok && answer !== null) return answer as Answer;
  throw errorOf(status, answer);
}

async function answerTo(path: string, init: RequestInit, signal?: AbortSignal) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(), ANSWER_MS);
  try {
    const response = await fetch(path, {
      ...init,
      signal: AbortSignal.any([late.signal, ...(signal ? [signal] : [])]),
    });
    return { ok: response.ok, status: response.status, text: await response.text() };
  } finally {
    clearTimeout(timer);
  }
}

/** The JSON of an answer with every text as pages show it; null for what is none. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? visible(value) : value));
  } catch {
    return null;
  }
}

/** A path with values, which are escaped. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((text, part, index) => text + encodeURIComponent(values[index - 1] ?? '') + part);
}

interface ErrorAnswer {
  error?: { code: string; message: string; refusals?: Refusal[] };
}

/** A proxy in between may answer with something else than the API does. */
function errorOf(status: number, answer: unknown): ApiError {
  const { error } = (answer ?? {}) as ErrorAnswer;
  const foreign = { code: `HTTP_${status}`, message: `what answers is not the service (status ${status})` };
  return new ApiError({ status, ...(error ?? foreign) });
}

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

/** A text without characters that nobody sees, or that turn the order of others around; line breaks and tabs stay. */
export function visible(text: string): string {
  return text.replace(/(?![\r\n\t])[\p{C}\u2028\u2029]/gu, '\ufffd');
}
