import type { Place } from '../store/database.ts';

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
