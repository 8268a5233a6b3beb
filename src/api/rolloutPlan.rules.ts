import { type TimeWindow, weekdays } from './timeWindow.rules.ts';

/** Which hosts a wave of a rollout takes, as a request names them: all without a number. */
export interface PlannedWave {
  count?: number;
  percent?: number;
  labels?: Record<string, string>;
}

/** How large a rollout may be: waves, hosts that are counted, and seconds of soak and until the deadline of a wave. */
export const rolloutBounds = { waves: 32, hosts: 1_000_000, soakSeconds: 604_800, deadlineSeconds: 2_592_000 };

/** A wave from `5`, `10%` or `all`, each optionally with `:NAME=VALUE,…`; null if it is not one. */
export function parseWave(text: string): PlannedWave | null {
  const [size = '', ...rest] = text.split(':');
  const wave = parseSize(size);
  if (rest.length === 0) return wave;
  const labels = parseLabels(rest.join(':').split(','));
  return wave && labels && { ...wave, labels };
}

function parseSize(text: string): PlannedWave | null {
  const [, digits, unit] = /^([1-9]\d{0,6})(%?)$/.exec(text) ?? [];
  if (digits !== undefined && unit === '') return { count: Number(digits) };
  if (digits !== undefined && Number(digits) <= 100) return { percent: Number(digits) };
  return text === 'all' ? {} : null;
}

/** A window from `mon-fri 08:30+90 Europe/Berlin`, whose zone and minutes are not checked; null if it is not one. */
export function parseWindow(text: string): TimeWindow | null {
  const [, names = '', start, minutes, time_zone] =
    /^(\S+) ((?:[01]\d|2[0-3]):[0-5]\d)\+(\d{1,4}) (\S+)$/.exec(text) ?? [];
  const opened = names.split(',').map(daysOf);
  if (start === undefined || time_zone === undefined || opened.some((some) => some.length === 0)) return null;
  return { days: [...new Set(opened.flat())], start, minutes: Number(minutes), time_zone };
}

/** The days of `sat` or `mon-fri`; none of a text that names no days. */
function daysOf(text: string): TimeWindow['days'] {
  const [first, last = first, ...more] = text.split('-').map((name) => weekdays.findIndex((day) => day === name));
  if (first === undefined || last === undefined || first < 0 || last < first || more.length > 0) return [];
  return weekdays.slice(first, last + 1);
}

/** A window as text. */
export function formatWindow({ days, start, minutes, time_zone }: TimeWindow): string {
  return `${days.join(', ')} from ${start} for ${minutes} minutes, ${time_zone}`;
}

/** Labels from words such as `ring=canary`; null if one is invalid, or a name comes twice. */
export function parseLabels(words: readonly string[]): Record<string, string> | null {
  const labels = words.map((word) => word.split('='));
  const names = new Set(labels.map(([name]) => name));
  const isValid = names.size === words.length && labels.every(([name, ...value]) => name !== '' && value.length === 1);
  return isValid ? (Object.fromEntries(labels) as Record<string, string>) : null;
}
