import type { Ending } from './endings.ts';
import { Fault, faultOf } from './fault.ts';
import type { Deferral, Outcome, RetryDelay } from './types.ts';

/** An outcome without lines, code or tail. */
export function plainOutcome(ending: Ending): Outcome {
  return { ending, code: null, lines: [], tail: null, reason: '', reverted: false };
}

/** Any error as an outcome. An error that is not a Fault is a bug: only its class name is shown, never its message (spec §9). */
export function outcomeOf(error: unknown, laptopMode: boolean): Outcome {
  if (!(error instanceof Fault)) {
    const name = error instanceof Error ? error.name : typeof error;
    return { ...plainOutcome('failed'), code: 'INTERNAL', lines: [`failed: internal error (${name})`] };
  }
  const { code, lines, tail } = error;
  const ending = error.ending === 'offline' && laptopMode ? 'offlineLaptop' : error.ending;
  return { ...plainOutcome(ending), code, lines, tail };
}

/** A failed bundle is not retried yet; `line` is the journal line of its last failure. */
export function pausedOutcome({ line }: RetryDelay): Outcome {
  return { ...plainOutcome('paused'), lines: [line] };
}

/** A hold, the maintenance windows of this host or the leader of its swarm defer the desired state. */
export function deferredOutcome({ ending, line, reason }: Deferral): Outcome {
  return { ...plainOutcome(ending), lines: [line], reason };
}

/** Neither token nor grant exists (spec §7, second row). */
export function tokenAbsentOutcome(grantFile: string): Outcome {
  return { ...plainOutcome('tokenAbsent'), lines: [`token ABSENT: no bootstrap grant in ${grantFile}`] };
}

/** Endings of a tick that was cut short; the next tick continues. */
const interruptions: readonly Ending[] = ['stopped', 'interrupted', 'superseded'];

/**
 * The outcome for an error of a step. If the engine answered earlier in this tick and does not answer now, the tick
 * counts as interrupted.
 */
export function stepError(error: unknown, engineAnswered: boolean): unknown {
  if (!engineAnswered || !(error instanceof Fault) || error.code !== 'RUNTIME_UNAVAILABLE') return error;
  const [line = '', ...others] = error.lines;
  const lines = [`the container engine stopped; the next tick continues: ${line}`, ...others];
  return faultOf({ ending: 'interrupted', code: error.code, lines, tail: error.tail });
}

/** True when SIGTERM, the loss of the engine or another announced bundle cut the tick short. */
export function isInterruption(error: unknown): boolean {
  return error instanceof Fault && wasInterrupted(error);
}

/** True when the outcome cut the tick short, as above. */
export function wasInterrupted({ ending }: { ending: Ending }): boolean {
  return interruptions.includes(ending);
}
