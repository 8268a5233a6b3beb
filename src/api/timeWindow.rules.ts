/** When something may be begun, such as the waves of a rollout: on these days, from a time of day on, for so many minutes. */
export interface TimeWindow {
  readonly days: readonly (typeof weekdays)[number][];
  /** Such as `08:30`. */
  start: string;
  minutes: number;
  /** Such as `Europe/Berlin`. */
  time_zone: string;
}

/** How windows may be written: so many at most, each of so many minutes at most, with a start that matches the pattern. */
export const windowBounds = { windows: 32, minutes: 1440, start: '^([01][0-9]|2[0-3]):[0-5][0-9]$', zone: 64 };

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** The days of a week, from Monday on. */
export const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** True while one of the windows is open, and always without any; the time is in milliseconds since 1970. */
export function isOpen(windows: readonly TimeWindow[], now: number): boolean {
  return (
    windows.length === 0 || windows.some((window) => openingsOf(window, now).some((at) => isWithin(window, at, now)))
  );
}

/** When one of the windows opens next, in milliseconds since 1970: now, while one is open. */
export function nextOpening(windows: readonly TimeWindow[], now: number): number {
  if (isOpen(windows, now)) return now;
  return Math.min(...windows.flatMap((window) => openingsOf(window, now)).filter((at) => at > now));
}

/** True for the name of a time zone, as `Intl` knows it. */
export function isTimeZone(name: string): boolean {
  try {
    return clockOf(name).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function isWithin({ minutes }: TimeWindow, opening: number, now: number): boolean {
  return opening <= now && now < opening + minutes * MINUTE_MS;
}

/** When a window opens, from two days before a time (it may be open longer than a day without an hour) to the week after. */
function openingsOf({ days, start, time_zone }: TimeWindow, now: number): number[] {
  const clock = clockOf(time_zone);
  const today = Math.floor((now + offsetAt(clock, now)) / DAY_MS);
  const [hours = 0, minutes = 0] = start.split(':').map(Number);
  return Array.from({ length: 10 }, (_, index) => (today - 2 + index) * DAY_MS)
    .filter((day) => days.includes(weekdays[(new Date(day).getUTCDay() + 6) % 7] ?? 'sun'))
    .map((day) => instantOf(clock, day + (hours * 60 + minutes) * MINUTE_MS));
}

/**
 * The time at which clocks of a zone show a local time, given as if it were UTC. Of two such times, when clocks go back, it
 * is the first; a local time that is left out when clocks go forward is as much later as they go.
 */
function instantOf(clock: Intl.DateTimeFormat, local: number): number {
  const before = local - offsetAt(clock, local - DAY_MS);
  const after = local - offsetAt(clock, local + DAY_MS);
  const real = [before, after].filter((instant) => instant + offsetAt(clock, instant) === local);
  return real.length === 0 ? before : Math.min(...real);
}

/** How far clocks are ahead of UTC at a time, in milliseconds. */
function offsetAt(clock: Intl.DateTimeFormat, now: number): number {
  const parts = new Map(clock.formatToParts(now).map(({ type, value }) => [type, Number(value)]));
  const part = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const day = Date.UTC(part('year'), part('month') - 1, part('day'));
  const local = day + ((part('hour') * 60 + part('minute')) * 60 + part('second')) * 1000;
  return local - Math.floor(now / 1000) * 1000;
}

/** The clocks of a zone; creating them costs far more than reading them. */
function clockOf(zone: string): Intl.DateTimeFormat {
  const numeric = 'numeric';
  const date = { year: numeric, month: numeric, day: numeric } as const;
  const time = { hour: numeric, minute: numeric, second: numeric, hourCycle: 'h23' } as const;
  return new Intl.DateTimeFormat('en-US', { timeZone: zone, ...date, ...time });
}
