import { defaultHoldMs, maxHoldMs } from './hold.ts';

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The end of a hold that begins now, or why there can be none like that. */
export type HoldEnd = { end: Date } | { fault: string };

/**
 * The end of a hold from what an operator wrote: a length (`90m`, `12h`, `3d`), a time of day, or a date and time, by the clock
 * and the time zone of this host unless they name another one. Without a text it is a day from now.
 */
export function holdEndOf(text: string | undefined, now: Date): HoldEnd {
  const end = text === undefined ? new Date(now.getTime() + defaultHoldMs) : parseEnd(text, now);
  if (end === null || Number.isNaN(end.getTime()))
    return { fault: 'must be like 90m, 12h, 3d, 18:30, 2026-11-27T08:00 or 2026-11-27T08:00Z' };
  if (end <= now) return { fault: `is over since ${end.toISOString()}` };
  if (end.getTime() - now.getTime() > maxHoldMs)
    return { fault: 'is more than 7 days away, the longest that a hold lasts' };
  return { end };
}

function parseEnd(text: string, now: Date): Date | null {
  const [, number, unit] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (number !== undefined) return new Date(now.getTime() + Number(number) * unitMs[unit as keyof typeof unitMs]);
  const [, hours, minutes] = /^([01]\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours !== undefined) return nextTimeOfDay(Number(hours), Number(minutes), now);
  const [, date] = /^(\d{4}-\d\d-\d\d)[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  return date !== undefined && isDay(date) ? new Date(text.replace(' ', 'T')) : null;
}

/** False for the 31st of November, which `Date` takes for the next day. */
function isDay(date: string): boolean {
  const day = new Date(date);
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(date);
}

/** Today's, or tomorrow's where today's is over. */
function nextTimeOfDay(hours: number, minutes: number, now: Date): Date {
  const end = new Date(now);
  end.setHours(hours, minutes, 0, 0);
  if (end <= now) end.setDate(end.getDate() + 1);
  return end;
}
