import type { BackendPlace, Place, SortColumn } from '../store/database.ts';

/** Form of a cursor: time and id. */
export const cursorPattern = '^[0-9]{1,15}\\.[0-9A-Za-z._-]{1,128}$';

/** A place as callers give it back to get the next page. */
export function cursorOf({ time, id }: Place): string {
  return `${time}.${id}`;
}

/** The place that a cursor of `cursorPattern` names. */
export function placeOf(cursor: string): Place {
  const dot = cursor.indexOf('.');
  return { time: Number(cursor.slice(0, dot)), id: cursor.slice(dot + 1) };
}

/** Form of a cursor of a list of backends: the value that it is sorted by, in base64url, and an id; without a value, for ids. */
export const backendCursorPattern = '^([A-Za-z0-9_-]{0,2048}\\.)?[0-9a-f-]{36}$';

/** A place in a list that is sorted by a column, as callers give it back to get the next page. */
export function backendCursorOf({ key, id }: BackendPlace, column: SortColumn): string {
  return column === 'id' ? id : `${Buffer.from(String(key)).toString('base64url')}.${id}`;
}

/**
 * The place that a cursor of `backendCursorPattern` names; null if it is not of a list that is sorted by this column. No column
 * has a NUL, which PostgreSQL refuses.
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

/** One page of a list that was read with one row more than the page holds; `last` is null if nothing follows it. */
export function toPage<Row>(rows: readonly Row[], limit: number): { items: Row[]; last: Row | null } {
  const items = rows.slice(0, limit);
  return { items, last: rows.length > limit ? (items.at(-1) ?? null) : null };
}

/** Milliseconds since 1970 in RFC 3339. */
export function toTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
