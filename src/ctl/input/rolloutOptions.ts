import { InvalidArgumentError } from 'commander';
import { parseWave, parseWindow, type PlannedWave } from '../../protocol/rolloutPlan.ts';
import type { TimeWindow } from '../../protocol/timeWindow.ts';

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
