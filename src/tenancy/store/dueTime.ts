import { sql, type RawBuilder } from 'kysely';

/** Now, and how far ahead of its own time an instance sets the times of a column at most; milliseconds. */
export interface DueBounds {
  now: number;
  longestMs: number;
}

/** Whether the time of a column is past, or so far ahead that a clock has set it which went back since. */
export function isDue(column: string, { now, longestMs }: DueBounds): RawBuilder<boolean> {
  const time = sql.ref(column);
  return sql<boolean>`(${time} <= ${now} or ${time} > ${now + longestMs})`;
}
