import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { ApiError } from '../core/apiError.ts';

/** Cookie of a session. Browsers keep names that begin so only from https, for this host and every path. */
export const sessionCookie = '__Host-deployd-session';
/** Cookie of a sign-in that was begun. */
export const signInCookie = '__Host-deployd-sign-in';

/** The value of a cookie; undefined without one, and for two of the name, of which one is not ours. */
export function cookieOf({ headers }: FastifyRequest, name: string): string | undefined {
  const values = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined;
}

/**
 * The header that sets a cookie for some seconds; 0 removes it. `Lax`, since the provider sends people back by a link from
 * another site.
 */
export function setCookie(name: string, value: string, seconds: number): string {
  return `${name}=${value}; Path=/; Max-Age=${seconds}; Secure; HttpOnly; SameSite=Lax`;
}

/**
 * Throws 403 unless a page of the service itself makes the request, as the browser tells by `Sec-Fetch-Site`, or one
 * without that by `Origin`. A page of another site can forge neither, and no token needs to be handed out for it.
 */
export function requireSameOrigin(headers: IncomingHttpHeaders, publicUrl: string): void {
  const site = headers['sec-fetch-site'];
  const isOwn = site === undefined ? headers.origin === new URL(publicUrl).origin : site === 'same-origin';
  if (isOwn) return;
  const message = 'a session may do this from a page of the service only';
  throw new ApiError({ status: 403, code: 'CROSS_SITE_REFUSED', message });
}
