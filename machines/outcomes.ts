import type { Ending } from './endings.ts';
import { Fault } from './fault.ts';
import type { Outcome } from './words.ts';

/** An outcome that needs no words of its own. */
export function plain(ending: Ending): Outcome {
  return { ending, code: null, lines: [], tail: null, reason: '', reverted: false };
}

/** Any error as an outcome. What is not a Fault is a bug: told by its name, never by its payload (spec §9). */
export function outcomeOf(error: unknown, laptopMode: boolean): Outcome {
  if (!(error instanceof Fault)) {
    const name = error instanceof Error ? error.name : typeof error;
    return { ...plain('failed'), code: 'INTERNAL', lines: [`failed: internal error (${name})`] };
  }
  const { code, lines, tail } = error;
  const ending = error.ending === 'offline' && laptopMode ? 'offlineLaptop' : error.ending;
  return { ...plain(ending), code, lines, tail };
}

/** Neither token nor grant: the tick cannot speak to anybody (spec §7, second row). */
export function tokenAbsent(grantFile: string): Outcome {
  return { ...plain('tokenAbsent'), lines: [`token ABSENT: no bootstrap grant in ${grantFile}`] };
}

/** True when the tick was cut short from outside, so that nothing was decided and the next one goes on. */
export function isCutShort(error: unknown): boolean {
  return error instanceof Fault && (error.ending === 'stopped' || error.ending === 'interrupted');
}
