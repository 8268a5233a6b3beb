import got, { RequestError, type Method, type Response } from 'got';
import { bodyOptions } from '../../src/core/httpClient.ts';
import { UserError } from '../userError.ts';

/** A request to a server that releases are published to. */
export interface ApiRequest {
  method: Method;
  url: string;
  headers?: Record<string, string>;
  json?: object;
  body?: Buffer | FormData;
}

/** A response of any status. */
export interface ApiResponse {
  status: number;
  /** Target of a redirect as an absolute URL. */
  location: string | null;
  body: Buffer;
}

/** Sends a request. Idempotent ones are retried after a temporary error; redirects are not followed. */
export async function sendRequest({ method, url, headers = {}, json, body }: ApiRequest): Promise<ApiResponse> {
  try {
    const response = (await got(url, {
      method,
      ...bodyOptions(
        { ...(json && { 'content-type': 'application/json' }), ...headers },
        json ? JSON.stringify(json) : body,
      ),
      responseType: 'buffer',
      followRedirect: false,
      throwHttpErrors: false,
      timeout: { connect: 15_000, request: 600_000 },
      retry: { limit: 2, methods: ['GET', 'PUT', 'DELETE'], statusCodes: retryableStatuses, backoffLimit: 2000 },
    })) as Response<Uint8Array>;
    const { location } = response.headers;
    return {
      status: response.statusCode,
      location: location === undefined ? null : new URL(location, url).href,
      body: Buffer.from(response.body),
    };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    // The error holds the headers with the token, so it is dropped; the query may be the signature of a storage URL.
    throw new UserError(
      `${method} ${url.replace(/\?.*/s, '')}: ${error.code}; run this job again when the server can be reached`,
    );
  }
}

/** The error for an unexpected response, with the server's message. */
export function responseError({ method, url }: ApiRequest, { status, body }: ApiResponse, hint = ''): UserError {
  const message = errorMessageIn(body);
  return new UserError([`${method} ${url}: ${status}`, message && ` (${message})`, hint && `: ${hint}`].join(''));
}

const retryableStatuses = [408, 429, 500, 502, 503, 504];

function errorMessageIn(body: Buffer): string {
  try {
    const { message } = JSON.parse(body.toString()) as { message?: unknown };
    return typeof message === 'string' ? message.slice(0, 200) : '';
  } catch {
    return '';
  }
}
