import { ApiError } from './apiError.ts';
import { visible } from './visible.ts';
import type { Refusal } from './types.ts';

/** A call of the API. */
export interface ApiRequest {
  method?: 'POST' | 'PUT' | 'DELETE';
  body?: unknown;
  signal?: AbortSignal;
}

/** Calls the API by the session of this browser; the answer's body, undefined for none. Throws `ApiError`. */
export async function request<Answer>(path: string, { method, body, signal }: ApiRequest = {}): Promise<Answer> {
  const init: RequestInit = { method: method ?? 'GET', credentials: 'same-origin', signal: signal ?? null };
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { 'content-type': 'application/json' };
  }
  const { ok, status, text } = await answerTo(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError({ status: 0, code: 'UNREACHABLE', message: 'the service does not answer' });
  });
  const answer = text === '' ? undefined : parse(text);
  if (ok && answer !== null) return answer as Answer;
  throw errorOf(status, answer);
}

async function answerTo(path: string, init: RequestInit) {
  const response = await fetch(path, init);
  return { ok: response.ok, status: response.status, text: await response.text() };
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
