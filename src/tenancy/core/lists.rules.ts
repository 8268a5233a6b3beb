import type { BackendPlace, Place, SortColumn } from '../store/database.ts';

/** Form of a cursor: time and id. */
export const cursorPattern = '^[0-9]{1,15}\\.[0-9A-Za-z._-]{1,128}$';

/** Formats a position as the cursor of the next page. */
export function cursorOf({ time, id }: Place): string {
  return `${time}.${id}`;
}

/** Parses a cursor in the form of `cursorPattern`. */
export function placeOf(cursor: string): Place {
  const dot = cursor.indexOf('.');
  return { time: Number(cursor.slice(0, dot)), id: cursor.slice(dot + 1) };
}

/** Form of a cursor in a list of backends: the sort value in base64url and an id, or only an id. */
export const backendCursorPattern = '^([A-Za-z0-9_-]{0,2048}\\.)?[0-9a-f-]{36}$';

/** Formats a position in a sorted list as the cursor of the next page. */
export function backendCursorOf({ key, id }: BackendPlace, column: SortColumn): string {
  return column === 'id' ? id : `${Buffer.from(String(key)).toString('base64url')}.${id}`;
}

/**
 * Parses a cursor in the form of `backendCursorPattern`; returns null if it belongs to a list sorted by another column.
 * No column contains a NUL, which PostgreSQL rejects.
 */
export function backendPlaceOf(cursor: string, column: SortColumn): BackendPlace | null {
  const dot = cursor.indexOf('.');
  if ((dot === -1) !== (column === 'id')) return null;
  const id = cursor.slice(dot + 1);
  if (column === 'id') return { key: id, id };
  const key = Buffer.from(cursor.slice(0, dot), 'base64url').toString();
  if (column !== 'last_seen_at') return key.includes('\0') ? null : { key, id };
  return /^[0-9]{1,15}$/.test(key) ? { key: Number(key), id } : null;
}

/**
 * Converts rows to a page; the list was read with one row more than the page holds. `last` is null on the last page.
 */
export function toPage<Row>(rows: readonly Row[], limit: number): { items: Row[]; last: Row | null } {
  const items = rows.slice(0, limit);
  return { items, last: rows.length > limit ? (items.at(-1) ?? null) : null };
}

/** Milliseconds since 1970 in RFC 3339. */
export function toTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
