import { InvalidArgumentError } from 'commander';

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
