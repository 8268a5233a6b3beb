import { ApiError } from './apiError.ts';
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
  const response = await fetch(path, init).catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new ApiError({ status: 0, code: 'UNREACHABLE', message: 'the service does not answer' });
  });
  const text = await response.text();
  if (!response.ok) throw errorOf(response.status, text);
  return (text === '' ? undefined : JSON.parse(text)) as Answer;
}

/** A path with values, which are escaped. */
export function path(parts: TemplateStringsArray, ...values: string[]): string {
  return parts.reduce((text, part, index) => text + encodeURIComponent(values[index - 1] ?? '') + part);
}

interface ErrorAnswer {
  error: { code: string; message: string; refusals?: Refusal[] };
}

/** A proxy in between may answer with something else than the API does. */
function errorOf(status: number, text: string): ApiError {
  try {
    return new ApiError({ status, ...(JSON.parse(text) as ErrorAnswer).error });
  } catch {
    return new ApiError({ status, code: `HTTP_${status}`, message: `the answer has the status ${status}` });
  }
}
