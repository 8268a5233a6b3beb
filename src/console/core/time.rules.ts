const MINUTE_MS = 60_000;
/** Longer than any step of a host can take; the reported value may be anything. */
const DAY_MS = 24 * 60 * MINUTE_MS;
const units = [
  ['day', DAY_MS],
  ['hour', 60 * MINUTE_MS],
  ['minute', MINUTE_MS],
] as const;

/** How far a time is away, in its largest unit: `3 minutes ago`, `in 2 days`; less than a minute is `just now`. */
export function relativeTime(time: string, now: number): string {
  const distance = Date.parse(time) - now;
  const unit = units.find(([, size]) => Math.abs(distance) >= size);
  if (unit === undefined) return distance > 0 ? 'in less than a minute' : 'just now';
  const [name, size] = unit;
  const count = Math.floor(Math.abs(distance) / size);
  const words = `${count} ${name}${count === 1 ? '' : 's'}`;
  return distance > 0 ? `in ${words}` : `${words} ago`;
}

/** A clock for ages, in milliseconds: it never goes back, even if the clock of the machine is set back, and counts sleep. */
export function steadyClock(now: () => number): () => number {
  let [last, steady] = [now(), now()];
  return () => {
    const read = now();
    steady += Math.max(0, read - last);
    last = read;
    return steady;
  };
}

/** The newest signs of life of the service, by a steady clock. */
export interface SignsOfLife {
  /** The stream of changes: its begin, or its newest event. */
  stream: number;
  /** The newest load that has succeeded. */
  loaded: number;
  /** Since when a load has had no answer; null if none is awaited. */
  awaitedSince: number | null;
  /** Since when the stream is broken; null if it is not known to be. */
  brokenSince: number | null;
}

/** Milliseconds without a sign of life after which a page reports that it may be old. */
export const STALE_MS = 10_000;
/** Milliseconds without an event after which a page is loaded again, in case only the stream is silent. */
const POLL_MS = 7000;

/**
 * Since when a page may be old; null if it is not. A broken stream shows at once. A load counts as a sign of life, unless
 * a later one waits for its answer.
 */
export function staleSince({ stream, loaded, awaitedSince, brokenSince }: SignsOfLife, now: number): number | null {
  if (brokenSince !== null && loaded < brokenSince) return brokenSince;
  const newest = Math.max(stream, loaded);
  const since = awaitedSince !== null && now - awaitedSince > STALE_MS ? loaded : newest;
  return now - since > STALE_MS ? since : null;
}

/** Whether a page should be loaded again, because nothing has been heard for a while. */
export function shouldPoll({ stream, loaded, awaitedSince }: SignsOfLife, now: number): boolean {
  return awaitedSince === null && now - Math.max(stream, loaded) > POLL_MS;
}

/** A time in a zone, to the second: `2026-11-26 09:12:03`. */
export function absoluteTime(time: string, zone: string): string {
  const options = { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' } as const;
  return new Intl.DateTimeFormat('sv-SE', options).format(new Date(time));
}

/** A zone with its offset from UTC at a time: `Europe/Berlin (UTC+1)`. */
export function zoneName(zone: string, now: number): string {
  const parts = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'shortOffset' }).formatToParts(now);
  const offset = parts.find(({ type }) => type === 'timeZoneName')?.value ?? '';
  return `${zone} (${offset.replace('GMT', 'UTC')})`;
}

/** A duration for people: `340 ms`, `4.2 s`, `3 min 5 s`, `more than a day`. */
export function durationText(milliseconds: number): string {
  if (milliseconds > DAY_MS) return 'more than a day';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < MINUTE_MS) return `${(milliseconds / 1000).toFixed(1)} s`;
  const seconds = Math.round(milliseconds / 1000);
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** A step of a tick as a part of its bar. */
interface Segment {
  name: string;
  milliseconds: number;
  x: number;
  width: number;
}

/** The steps of a tick one after another, where `scale` is the length of the longest tick and the bar is `width` long. */
export function segmentsOf(
  durations: Readonly<Record<string, number>>,
  { scale, width }: { scale: number; width: number },
): Segment[] {
  let x = 0;
  return Object.entries(durations).map(([name, milliseconds]) => {
    const segment = { name, milliseconds, x, width: scale === 0 ? 0 : (bounded(milliseconds) / scale) * width };
    x += segment.width;
    return segment;
  });
}

/** How long a tick's steps took together, each a day at most. */
export function totalOf(durations: Readonly<Record<string, number>>): number {
  return Object.values(durations).reduce((sum, each) => sum + bounded(each), 0);
}

/** A duration that can be drawn. */
function bounded(milliseconds: number): number {
  return Math.min(Math.max(milliseconds, 0), DAY_MS);
}
