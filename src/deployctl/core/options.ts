import { InvalidArgumentError } from 'commander';
import { parseWave, parseWindow, type PlannedWave } from '../../api/rolloutPlan.rules.ts';
import type { TimeWindow } from '../../api/timeWindow.rules.ts';

/** A whole number of 1 or more. */
export function countOption(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a whole number of 1 or more.');
  return Number(text);
}

/** Collects the values of an option that may be given several times. */
export function collectOption(value: string, previous: string[] = []): string[] {
  return [...previous, value];
}

/** Seconds of a duration: `45m`, `12h` or `90d`. */
export function durationOption(text: string): number {
  const [, count = '', unit = ''] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (count === '') throw new InvalidArgumentError('It must be a duration, such as 45m, 12h or 90d.');
  return Number(count) * ({ m: 60, h: 3600 }[unit] ?? 86_400);
}

/** Labels as they are given. */
export function formatLabels(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
}

/** A wave as `parseWave` reads it; collects those of several options. */
export function waveOption(text: string, previous: PlannedWave[] = []): PlannedWave[] {
  const wave = parseWave(text);
  if (wave !== null) return [...previous, wave];
  throw new InvalidArgumentError(
    'It must be a number of hosts, a percentage from 1% to 100%, or all, perhaps with :NAME=VALUE,…, each name once.',
  );
}

/** A window as `parseWindow` reads it; collects those of several options. */
export function windowOption(text: string, previous: TimeWindow[] = []): TimeWindow[] {
  const window = parseWindow(text);
  if (window !== null) return [...previous, window];
  throw new InvalidArgumentError("It must be like 'mon-fri 08:30+90 Europe/Berlin': days, start, minutes, time zone.");
}

/** A whole number of 0 or more. */
export function numberOption(text: string): number {
  if (!/^(0|[1-9]\d{0,8})$/.test(text)) throw new InvalidArgumentError('It must be a whole number of 0 or more.');
  return Number(text);
}
