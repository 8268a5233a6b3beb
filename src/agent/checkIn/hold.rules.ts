import type { ToldHold } from '../../api/checkIn.rules.ts';
import { isDay, isTimestamp } from '../../core/text.rules.ts';
import type { Hold, StandingHold } from '../../../machines/types.ts';

const DAY_MS = 86_400_000;

/** The longest hold, in milliseconds. */
export const maxHoldMs = 7 * DAY_MS;

/** Duration of a hold without an end, in milliseconds. */
const defaultHoldMs = DAY_MS;

/** Maximum number of characters of the reason and of the author's name. */
export const maxLineCharacters = 200;

/** The file of a hold on disk. */
export interface HoldFile {
  text: string;
  /** When it was last written, in milliseconds since 1970. */
  modifiedMs: number;
}

/** The text of the file of a hold. */
export function formatHold({ until, reason, by }: Hold): string {
  return `${JSON.stringify({ schema: 1, until, reason, by }, null, 2)}\n`;
}

/**
 * The current hold; null if there is no hold or it has ended. It ends at most seven days after its file was written. A
 * file with a time in the future was written before the clock was set back, and counts as written now. An unreadable
 * file also holds for seven days, because somebody may have set it to protect the host.
 */
export function standingHold(file: HoldFile | null, now: Date): StandingHold | null {
  if (file === null) return null;
  const begin = Math.min(file.modifiedMs, now.getTime());
  const latest = begin + maxHoldMs;
  const parsed = parseHold(file.text);
  const end = parsed === null ? latest : Math.min(Date.parse(parsed.until), latest);
  if (end <= now.getTime()) return null;
  const told = parsed ?? { reason: 'hold.json is damaged, or of another version of deployd' };
  const [since, until] = [new Date(begin).toISOString(), new Date(end).toISOString()];
  return { ...told, since, until, isDamaged: parsed === null };
}

/** A hold as the end of a sentence: end, start, author and reason, as far as they are known. */
export function formatStanding({ until, since, by, reason }: ToldHold): string {
  const times = since === undefined ? `until ${until}` : `until ${until}, since ${since}`;
  return `${times}${by === undefined ? '' : `, by ${by}`}${reason === null ? '' : `: ${reason}`}`;
}

function parseHold(text: string): Hold | null {
  const { schema, until, reason, by } = { ...(parseJson(text) as Record<string, unknown> | null) };
  const isValid = schema === 1 && typeof until === 'string' && isTimestamp(until);
  if (!isValid || (reason !== null && (typeof reason !== 'string' || !isLine(reason)))) return null;
  return { until, reason, ...(typeof by === 'string' && isLine(by) && { by }) };
}

/** True for a line that can be shown on a terminal and sent to the tenancy service, as a reason or a name. */
export function isLine(text: string): boolean {
  return text.length <= maxLineCharacters && /^(?! )[^\p{C}\u2028\u2029]+(?<! )$/u.test(text);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The end of a hold that begins now, or why it is invalid. */
type HoldEnd = { end: Date } | { fault: string };

/**
 * Parses the end of a hold as an operator writes it: a duration (`90m`, `12h`, `3d`), a time of day, or a date and
 * time. The time zone of this host is the default. Without a text, the end is one day from now.
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

/** That time today, or tomorrow if it is already over today. */
function nextTimeOfDay(hours: number, minutes: number, now: Date): Date {
  const end = new Date(now);
  end.setHours(hours, minutes, 0, 0);
  if (end <= now) end.setDate(end.getDate() + 1);
  return end;
}
