/** Bytes `start` to `end`, both included. */
export interface Range {
  start: number;
  end: number;
}

/** What a request wants of an entity: all of it (null), one range, or a range that lies outside of it. */
export type WantedBytes = Range | null | 'unsatisfiable';

/** The bytes that are wanted of `size` bytes under an ETag (RFC 9110, 14). Several ranges, and odd ones, mean all. */
export function wantedBytes(
  { range, ifRange }: { range: string | undefined; ifRange: string | undefined },
  { etag, size }: { etag: string; size: number },
): WantedBytes {
  if (range === undefined || (ifRange !== undefined && ifRange !== etag)) return null;
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(range.trim()) ?? [];
  if (first === '') return last === '' ? null : suffix(Number(last), size);
  const start = Number(first);
  if (last !== '' && Number(last) < start) return null;
  if (start >= size) return 'unsatisfiable';
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) };
}

/** True if an If-None-Match names the ETag, or any. */
export function isUnchanged(ifNoneMatch: string | undefined, etag: string): boolean {
  const tags = (ifNoneMatch ?? '').split(',').map((tag) => tag.trim().replace(/^W\//, ''));
  return tags.includes(etag) || tags.includes('*');
}

function suffix(length: number, size: number): WantedBytes {
  if (length === 0 || size === 0) return 'unsatisfiable';
  return { start: Math.max(size - length, 0), end: size - 1 };
}
