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
