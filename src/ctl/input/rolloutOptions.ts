import { InvalidArgumentError } from 'commander';
import type { StartWindow } from '../api/types.ts';
import { labelsOption } from './labels.ts';

/** Which hosts a wave takes, as a request names them. */
export interface NewWave {
  count?: number;
  percent?: number;
  labels?: Record<string, string>;
}

/** A wave from `5`, `10%` or `all`, each perhaps with `:NAME=VALUE,…`; collects those of several options. */
export function waveOption(text: string, previous: NewWave[] = []): NewWave[] {
  const [size = '', ...labels] = text.split(':');
  const words = labels.join(':').split(',');
  return [...previous, { ...sizeOf(size), ...(labels.length > 0 && { labels: labelsOption(words) }) }];
}

function sizeOf(text: string): NewWave {
  const [, digits, unit] = /^([1-9]\d{0,6})(%?)$/.exec(text) ?? [];
  if (digits !== undefined && unit === '') return { count: Number(digits) };
  if (digits !== undefined && Number(digits) <= 100) return { percent: Number(digits) };
  if (text === 'all') return {};
  throw new InvalidArgumentError('It must be a number of hosts, a percentage from 1% to 100%, or all.');
}

const days = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** A window from `mon-fri 08:30+90 Europe/Berlin`; collects those of several options. */
export function windowOption(text: string, previous: StartWindow[] = []): StartWindow[] {
  const [, names = '', start, minutes, time_zone] =
    /^(\S+) ((?:[01]\d|2[0-3]):[0-5]\d)\+(\d{1,4}) (\S+)$/.exec(text) ?? [];
  const opened = names.split(',').map(daysOf);
  if (start === undefined || time_zone === undefined || opened.some((some) => some.length === 0)) {
    throw new InvalidArgumentError(
      "It must be like 'mon-fri 08:30+90 Europe/Berlin': days, start, minutes, time zone.",
    );
  }
  return [...previous, { days: opened.flat(), start, minutes: Number(minutes), time_zone }];
}

/** The days of `sat` or `mon-fri`; none of a text that names no days. */
function daysOf(text: string): StartWindow['days'] {
  const [first, last = first, ...more] = text.split('-').map((name) => days.findIndex((day) => day === name));
  if (first === undefined || last === undefined || first < 0 || last < first || more.length > 0) return [];
  return days.slice(first, last + 1);
}

/** A whole number of 0 or more. */
export function numberOption(text: string): number {
  if (!/^(0|[1-9]\d{0,8})$/.test(text)) throw new InvalidArgumentError('It must be a whole number of 0 or more.');
  return Number(text);
}
