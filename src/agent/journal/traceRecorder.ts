import { type Decision, type RecordedDecision, sanitizeDecision, type Step } from './trace.rules.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { monotonicMs } from '../../core/clock.ts';

/** The recorded part of a tick. */
export interface Recording {
  startedAt: Date;
  /** Milliseconds since the start. */
  ms: number;
  steps: Step[];
  decisions: RecordedDecision[];
}

/** Maximum number of steps, and of decisions, of one tick; more are dropped. */
const maxEntries = 200;

/**
 * Records the states that a tick enters and its decisions.
 * - It contains only names of states, types of events and the fields of Decision; every text is redacted.
 * - `start` clears the previous tick.
 */
export class TraceRecorder {
  readonly #redactor: () => Redactor;
  readonly #current = new Map<string, Step>();
  #latest = '';
  #startedMs = monotonicMs();
  #recording: Omit<Recording, 'ms'> = { startedAt: new Date(), steps: [], decisions: [] };

  /** The redactor is fetched for every decision, since the vault receives secrets while the tick runs. */
  constructor(redactor: () => Redactor) {
    this.#redactor = redactor;
  }

  start(): void {
    this.#startedMs = monotonicMs();
    this.#current.clear();
    this.#latest = '';
    this.#recording = { startedAt: new Date(), steps: [], decisions: [] };
  }

  /** Records that a machine enters a state and leaves the previous one; ignored when the state does not change. */
  enter({ machine, state, on }: Pick<Step, 'machine' | 'state' | 'on'>): void {
    if (this.#current.get(machine)?.state === state) return;
    this.leave(machine);
    this.#latest = state;
    const step = { machine, state, on, at_ms: this.#elapsed(), ms: 0 };
    this.#current.set(machine, step);
    if (this.#recording.steps.length < maxEntries) this.#recording.steps.push(step);
  }

  /** Records that a machine has ended. */
  leave(machine: string): void {
    const step = this.#current.get(machine);
    if (step) step.ms = this.#elapsed() - step.at_ms;
    this.#current.delete(machine);
  }

  /** Records a decision; returns it as recorded. */
  recordDecision(decision: Decision): Decision {
    const sanitized = sanitizeDecision(decision, (text) => this.#redactor().redact(text));
    const { decisions } = this.#recording;
    if (decisions.length < maxEntries) decisions.push({ ...sanitized, state: this.#latest, at_ms: this.#elapsed() });
    return sanitized;
  }

  /** Number of states recorded so far. */
  stepCount(): number {
    return this.#recording.steps.length;
  }

  /** The recording so far. */
  recording(): Recording {
    return { ...this.#recording, ms: this.#elapsed() };
  }

  #elapsed(): number {
    return Math.round(monotonicMs() - this.#startedMs);
  }
}
