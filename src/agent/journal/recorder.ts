import { admitted, type Decision, type Noted, type Step } from '../rules/trace/trace.ts';
import type { Redactor } from '../secrets/redact.ts';
import { clockMs } from './clock.ts';

/** What one tick has left behind so far. */
export interface Recording {
  startedAt: Date;
  /** Since the start. */
  ms: number;
  steps: Step[];
  decisions: Noted[];
}

/** More than this of one tick is not kept: a trace stays small whatever happens. */
const mostEntries = 200;

/**
 * Collects what a tick does: the states it enters and what it decides in them.
 * - Only names of states, types of events and the words of Decision get in, each text through the redactor.
 * - `begin` forgets the tick before.
 */
export class Recorder {
  readonly #redactor: () => Redactor;
  readonly #current = new Map<string, Step>();
  #latest = '';
  #began = clockMs();
  #recording: Omit<Recording, 'ms'> = { startedAt: new Date(), steps: [], decisions: [] };

  /** The redactor is asked at every note, as the vault learns secrets while the tick runs. */
  constructor(redactor: () => Redactor) {
    this.#redactor = redactor;
  }

  begin(): void {
    this.#began = clockMs();
    this.#current.clear();
    this.#latest = '';
    this.#recording = { startedAt: new Date(), steps: [], decisions: [] };
  }

  /** A machine enters a state, and so leaves the one before; one that stays where it is does not. */
  enter({ machine, state, on }: Pick<Step, 'machine' | 'state' | 'on'>): void {
    if (this.#current.get(machine)?.state === state) return;
    this.leave(machine);
    this.#latest = state;
    const step = { machine, state, on, at_ms: this.#elapsed(), ms: 0 };
    this.#current.set(machine, step);
    if (this.#recording.steps.length < mostEntries) this.#recording.steps.push(step);
  }

  /** A machine is over. */
  leave(machine: string): void {
    const step = this.#current.get(machine);
    if (step) step.ms = this.#elapsed() - step.at_ms;
    this.#current.delete(machine);
  }

  /** Returns the decision as it was written down. */
  note(decision: Decision): Decision {
    const written = admitted(decision, (text) => this.#redactor().redact(text));
    const { decisions } = this.#recording;
    if (decisions.length < mostEntries) decisions.push({ ...written, state: this.#latest, at_ms: this.#elapsed() });
    return written;
  }

  /** All of it, now. */
  recording(): Recording {
    return { ...this.#recording, ms: this.#elapsed() };
  }

  #elapsed(): number {
    return Math.round(clockMs() - this.#began);
  }
}
