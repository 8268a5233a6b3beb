import { sql, type RawBuilder } from 'kysely';

/** Now, and how far ahead of its own time an instance sets the times of a column at most; milliseconds. */
export interface DueBounds {
  now: number;
  longestMs: number;
}

/**
 * Milliseconds by which the clocks of instances differ at most, with the age of `now` where an instance had to wait: a time that
 * another instance has just set is no sign of a clock that went back.
 */
const LEEWAY_MS = 5 * 60_000;

/** Whether the time of a column is past, or so far ahead that a clock has set it which went back since. */
export function isDue(column: string, { now, longestMs }: DueBounds): RawBuilder<boolean> {
  const time = sql.ref(column);
  return sql<boolean>`(${time} <= ${now} or ${time} > ${now + longestMs + LEEWAY_MS})`;
}
