import type { Ending } from './endings.ts';
import type { Refusal } from './words.ts';

/** What a fault carries besides its ending. */
export interface FaultDetails {
  code?: string;
  tail?: string;
  /** Further journal lines after the first. */
  more?: string[];
  /** Seconds that a peer asks to be left alone for. */
  retryAfterS?: number | null;
  /** The time for it was up. */
  isLate?: boolean;
}

/**
 * The one error that services throw on purpose: how the tick must end and the exact journal line.
 * Adapters translate every foreign error into one at once and drop the original, which may hold the bearer.
 */
export class Fault extends Error {
  override readonly name = 'Fault';
  readonly ending: Ending;
  readonly code: string | null;
  readonly tail: string | null;
  readonly lines: string[];
  readonly retryAfterS: number | null;
  readonly isLate: boolean;

  constructor(ending: Ending, line: string, details: FaultDetails = {}) {
    super(line);
    this.ending = ending;
    this.code = details.code ?? null;
    this.tail = details.tail ?? null;
    this.lines = [line, ...(details.more ?? [])];
    this.retryAfterS = details.retryAfterS ?? null;
    this.isLate = details.isLate ?? false;
  }
}

/** A fault of the tenancy service, the secretstore or the mesh that another try may cure (spec §9). */
export function offline(what: string, details: FaultDetails = {}): Fault {
  return new Fault('offline', `temporary network failure: ${what}`, details);
}

/** SIGTERM cut the tick short: nothing was decided, and the next one goes on. */
export function stopped(): Fault {
  return new Fault('stopped', 'stopped by SIGTERM');
}

/** Throws `stopped` when SIGTERM has come. */
export function heed(signal: AbortSignal): void {
  if (signal.aborted) throw stopped();
}

/** A failure that the report names by `code`; the journal says `<CODE>: <detail>`. */
export function failure(code: string, detail: string): Fault {
  return new Fault('failed', `${code}: ${detail}`, { code });
}

/** Refusals in the specification's line format; the first one gives the report its code (spec §9). */
export function refused(refusals: Refusal[]): Fault {
  const [first = '', ...more] = refusals.map(({ code, detail }) => `refused: ${code}: ${detail}`);
  return new Fault('refused', first, { ...(refusals[0] && { code: refusals[0].code }), more });
}
