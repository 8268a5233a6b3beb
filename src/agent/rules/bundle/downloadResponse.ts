import { failure, refused } from '../../../../machines/fault.ts';
import type { Fault } from '../../../../machines/fault.ts';

/** The head of an answer to a bundle request. */
export interface Head {
  /** Who gave it, as lines for people name him. */
  place: string;
  status: number;
  contentLength: string | undefined;
  contentRange: string | undefined;
}

/** What may be downloaded at most, in bytes. */
export interface Bounds {
  sizeBytes: number;
  limitBytes: number;
}

/**
 * What to do with an answer when `offset` bytes lie on the disk already and the rest was asked for: append its body,
 * write it from the start, or ask again for the whole because the range cannot be had.
 */
export function judgeHead({ place, status, contentRange }: Head, offset: number): 'append' | 'restart' | 'ask again' {
  if (status === 200) return 'restart';
  if (offset > 0 && status === 206 && contentRange?.startsWith(`bytes ${offset}-`) === true) return 'append';
  if (offset > 0 && (status === 206 || status === 416)) return 'ask again';
  throw failure('PROTOCOL_INVALID', `${place}: bundle answered ${status}`);
}

/** The refusal of a bundle whose announced size is beyond the limit, null when it may be asked for. */
export function judgeSize({ sizeBytes, limitBytes }: Bounds): Fault | null {
  if (sizeBytes <= limitBytes) return null;
  return refused([{ code: 'BUNDLE_UNSAFE', detail: `${sizeBytes} bytes, limits.bundle_bytes allows ${limitBytes}` }]);
}

/** The refusal of a body that ends beyond the limit or beyond the announced size, null while it fits. */
export function judgeEnd(endBytes: number, { sizeBytes, limitBytes }: Bounds): Fault | null {
  const beyond = judgeSize({ sizeBytes: endBytes, limitBytes });
  if (beyond !== null || endBytes <= sizeBytes) return beyond;
  return refused([{ code: 'BUNDLE_DIGEST', detail: `more bytes than the ${sizeBytes} announced` }]);
}

/** Bytes on the disk when the body has come whole, `offset` when the server does not tell its length. */
export function endOf({ contentLength }: Head, offset: number): number {
  return offset + (contentLength !== undefined && /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : 0);
}

/** Where a redirect leads: https anywhere, or http within this host; anything else is PROTOCOL_INVALID. */
export function judgeRedirect(location: string | undefined, from: URL): URL {
  const to = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  if (to !== null && to.username === '' && to.password === '' && isSafe(to)) return to;
  throw failure('PROTOCOL_INVALID', `bundle: redirected by ${from.origin} to where the agent does not go`);
}

function isSafe({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && /^(localhost|\[::1\]|127(\.\d+){3})$/.test(hostname);
}
