import { failedFault, type Fault, refusedFault } from '../../../machines/fault.ts';
import { refusalWith } from '../../../machines/refusals.ts';
import { limitCure, limitDetails } from '../../bundle/archive/archiveEntries.rules.ts';
import { isLoopback } from '../../core/http.rules.ts';

/** Status and headers of the response to a bundle request. */
export interface ResponseHead {
  /** The peer as journal lines name it. */
  peerLabel: string;
  status: number;
  contentLength: string | undefined;
  contentRange: string | undefined;
}

/** Upper limits of a download, in bytes: the announced size, and `limits.bundle_bytes`. */
export interface DownloadLimits {
  sizeBytes: number;
  limitBytes: number;
}

/**
 * How to continue when `offset` bytes are on disk and the rest was requested. The body is appended or written from the
 * start, or the whole bundle is requested again because the server does not support the range.
 */
export function resumeActionFor(
  { peerLabel, status, contentRange }: ResponseHead,
  offset: number,
): 'append' | 'restart' | 'restartRequest' {
  if (status === 200) return 'restart';
  if (offset > 0 && status === 206 && contentRange?.startsWith(`bytes ${offset}-`) === true) return 'append';
  if (offset > 0 && (status === 206 || status === 416)) return 'restartRequest';
  throw failedFault('PROTOCOL_INVALID', `${peerLabel}: bundle answered ${status}`);
}

/** Refuses a bundle whose announced size exceeds the limit; null when it may be downloaded. */
export function validateAnnouncedSize({ sizeBytes, limitBytes }: DownloadLimits): Fault | null {
  if (sizeBytes <= limitBytes) return null;
  const fault = { text: limitDetails.bundle_bytes(limitBytes, sizeBytes), cure: limitCure('bundle_bytes') };
  return refusedFault([refusalWith('BUNDLE_UNSAFE', [fault])]);
}

/** Refuses a body that exceeds the limit or the announced size; null while it fits. */
export function validateReceivedSize(endBytes: number, { sizeBytes, limitBytes }: DownloadLimits): Fault | null {
  const overLimit = validateAnnouncedSize({ sizeBytes: endBytes, limitBytes });
  if (overLimit !== null || endBytes <= sizeBytes) return overLimit;
  return refusedFault([{ code: 'BUNDLE_DIGEST', detail: `more bytes than the ${sizeBytes} announced` }]);
}

/** Bytes on disk after the complete body; `offset` when the response has no length. */
export function expectedBytes({ contentLength }: ResponseHead, offset: number): number {
  return offset + (contentLength !== undefined && /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : 0);
}

/** The target of a redirect: any https URL, or http on loopback; throws PROTOCOL_INVALID for any other. */
export function validateRedirect(location: string | undefined, from: URL): URL {
  const target = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  if (target !== null && target.username === '' && target.password === '' && isSafeUrl(target)) return target;
  throw failedFault('PROTOCOL_INVALID', `bundle: redirected by ${from.origin} to where the agent does not go`);
}

function isSafeUrl({ protocol, hostname }: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && isLoopback(hostname);
}
