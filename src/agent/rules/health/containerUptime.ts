import type { Inspected } from './health.ts';

/** When compose was last told to bring a release up. */
export interface BroughtUp {
  /** Milliseconds of a clock that never jumps. */
  atMs: number;
  /** How far the wall clock, by which the engine tells times, was ahead of that clock. */
  aheadMs: number;
  /** When each container had been started last until then, by its id and the engine's clock. */
  starts: ReadonlyMap<string, number>;
}

/** Nobody sets a clock by less, and one that is led back drifts less in a wait. */
const leastStepMs = 1000;

/**
 * When the run of each container began, by a clock that never jumps. The engine's word counts, which tells it by the wall
 * clock; where that was set meanwhile, or the start is yet to come, it is when the run was first seen (spec §12.4).
 */
export class Runs {
  readonly #broughtUp: BroughtUp;
  /** When each run was first seen, by container and start. */
  readonly #firstSeen = new Map<string, number>();

  constructor(broughtUp: BroughtUp) {
    this.#broughtUp = broughtUp;
  }

  /** Milliseconds of that clock, null for what does not run; `aheadMs` is how far the wall clock is ahead at this look. */
  beganMs({ id, state, startedMs, restarts }: Inspected, look: { nowMs: number; aheadMs: number }): number | null {
    if (state !== 'running') return null;
    const run = `${id} ${startedMs} ${restarts}`;
    const firstSeenMs = this.#firstSeen.get(run) ?? look.nowMs;
    this.#firstSeen.set(run, firstSeenMs);
    const { aheadMs } = this.#broughtUp;
    const wasSet = Math.abs(look.aheadMs - aheadMs) > leastStepMs;
    const told = startedMs - aheadMs;
    return !wasSet && told <= firstSeenMs ? told : firstSeenMs;
  }
}
