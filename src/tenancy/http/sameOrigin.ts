import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../services/apiError.ts';

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
