import type { Ending } from './endings.ts';
import { formatRefusal, type Refusal } from './refusals.ts';
import type { Deferral, FaultFacts, Outcome, RetryDelay } from './types.ts';

/** Details of a fault in addition to its ending. */
export interface FaultDetails {
  code?: string;
  tail?: string;
  /** Further journal lines after the first. */
  moreLines?: string[];
  /** The peer's `Retry-After`, in seconds. */
  retryAfterS?: number | null;
  /** The step exceeded its timeout. */
  isTimeout?: boolean;
  /** The refusals of a refused bundle. */
  refusals?: Refusal[];
  /**
   * How to fix an untrusted certificate; `authority` is the certificate authority to trust, if trusting it fixes the
   * problem.
   */
  certificate?: { cure: string; authority: string | null };
}

/**
 * The only error that services throw on purpose: the ending of the tick and the exact journal line. Adapters translate
 * every foreign error into a Fault and drop the original, which may contain the bearer token.
 */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly ending: Ending;
  readonly code: string | null;
  readonly tail: string | null;
  readonly lines: string[];
  readonly retryAfterS: number | null;
  readonly isTimeout: boolean;
  readonly refusals: readonly Refusal[];
  readonly certificate: FaultDetails['certificate'];

  constructor(ending: Ending, line: string, details: FaultDetails = {}) {
    super(line);
    this.ending = ending;
    this.code = details.code ?? null;
    this.tail = details.tail ?? null;
    this.lines = [line, ...(details.moreLines ?? [])];
    this.retryAfterS = details.retryAfterS ?? null;
    this.isTimeout = details.isTimeout ?? false;
    this.refusals = details.refusals ?? [];
    this.certificate = details.certificate;
  }
}

/** The content of a fault as plain data. */
export function faultFacts({ ending, code, lines, tail }: Fault): FaultFacts {
  return { ending, code, lines, tail };
}

/** Creates the fault from its plain data. */
export function faultOf({ ending, code, lines: [line = '', ...moreLines], tail }: FaultFacts): Fault {
  return new Fault(ending, line, { ...(code !== null && { code }), ...(tail !== null && { tail }), moreLines });
}

/** A temporary failure of the tenancy service, the secretstore or the mesh (spec §9). */
export function offlineFault(what: string, details: FaultDetails = {}): Fault {
  return new Fault('offline', `temporary network failure: ${what}`, details);
}

/** SIGTERM interrupted the tick; the next tick continues. */
export function stoppedFault(): Fault {
  return new Fault('stopped', 'stopped by SIGTERM');
}

/** A check-in during a wait announced another desired state; the next tick applies it. */
export function supersededFault(announced: string): Fault {
  return new Fault('superseded', `superseded: ${announced}; the next tick does that`);
}

/** Throws Fault `stopped` after SIGTERM. */
export function throwIfStopped(signal: AbortSignal): void {
  if (signal.aborted) throw stoppedFault();
}

/** A failure with a code for the report; its journal line is `<CODE>: <detail>`. */
export function failedFault(code: string, detail: string): Fault {
  return new Fault('failed', `${code}: ${detail}`, { code });
}

/** Refusals in the specification's line format, one line each; the report has the code of the first (spec §9). */
export function refusedFault(refusals: Refusal[]): Fault {
  const [first = '', ...moreLines] = refusals.map((refusal) => `refused: ${refusal.code}: ${formatRefusal(refusal)}`);
  return new Fault('refused', first, { ...(refusals[0] && { code: refusals[0].code }), moreLines, refusals });
}

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
