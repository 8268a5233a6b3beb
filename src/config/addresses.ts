import { isLoopback } from '../protocol/loopback.ts';

/** True for an address whose connections are neither encrypted nor stay on this host. */
export function isUnencrypted(url: string | null | undefined): boolean {
  return Boolean(url?.startsWith('http://')) && !isLoopback(new URL(url ?? '').hostname);
}

/** A base address without trailing slashes. */
export function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '');
}
