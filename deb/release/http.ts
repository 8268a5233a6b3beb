import got, { RequestError, type Method, type Response } from 'got';
import { Mishap } from '../mishap.ts';

/** One call to a server that releases are published to. */
export interface Ask {
  method: Method;
  url: string;
  headers?: Record<string, string>;
  json?: object;
  body?: Buffer | FormData;
}

/** An answer of any status. */
export interface Told {
  status: number;
  /** Where a redirect leads, as an absolute address. */
  location: string | null;
  body: Buffer;
}

/** Asks once more after a passing fault, except where that would do the work twice; never follows a redirect. */
export async function ask({ method, url, headers = {}, json, body }: Ask): Promise<Told> {
  try {
    const response = (await got(url, {
      method,
      headers,
      ...(json && { json }),
      ...(body && { body }),
      responseType: 'buffer',
      followRedirect: false,
      throwHttpErrors: false,
      timeout: { connect: 15_000, request: 600_000 },
      retry: { limit: 2, methods: ['GET', 'PUT', 'DELETE'], statusCodes: passing, backoffLimit: 2000 },
    })) as Response<Uint8Array>;
    const { location } = response.headers;
    return {
      status: response.statusCode,
      location: location === undefined ? null : new URL(location, url).href,
      body: Buffer.from(response.body),
    };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    // The error itself holds the headers, and with them the token; what follows `?` may be a signed storage address's.
    throw new Mishap(
      `${method} ${url.replace(/\?.*/s, '')}: ${error.code}; run this job again when the server can be reached`,
    );
  }
}

/** The mishap of an answer that is not what was hoped for, with what the server says of it. */
export function refusalOf({ method, url }: Ask, { status, body }: Told, hint = ''): Mishap {
  const said = messageIn(body);
  return new Mishap([`${method} ${url}: ${status}`, said && ` (${said})`, hint && `: ${hint}`].join(''));
}

const passing = [408, 429, 500, 502, 503, 504];

function messageIn(body: Buffer): string {
  try {
    const { message } = JSON.parse(body.toString()) as { message?: unknown };
    return typeof message === 'string' ? message.slice(0, 200) : '';
  } catch {
    return '';
  }
}
