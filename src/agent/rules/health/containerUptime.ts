import type { InspectedContainer } from './health.ts';

/** The last `compose up` of this tick. */
export interface ReleaseStart {
  /** Milliseconds of the monotonic clock. */
  atMs: number;
  /** How far the wall clock, which the engine's times refer to, was ahead of the monotonic clock. */
  clockOffsetMs: number;
  /** The last start of each container before that, by id, in the engine's time. */
  starts: ReadonlyMap<string, number>;
}

/** A smaller difference is drift or slewing, not a step of the wall clock. */
const minClockStepMs = 1000;

/**
 * The start of each container's run by the monotonic clock. It is the engine's start time, converted from the wall clock; when
 * the wall clock was set meanwhile, or the start is in the future, it is the time of the first observation (spec §12.4).
 */
export class ContainerUptime {
  readonly #lastStart: ReleaseStart;
  /** First observation of each run, by container, start and restarts. */
  readonly #firstObserved = new Map<string, number>();

  constructor(lastStart: ReleaseStart) {
    this.#lastStart = lastStart;
  }

  /** Monotonic milliseconds, null for a container that does not run; `aheadMs` is the wall clock's offset at `nowMs`. */
  runningSinceMs(
    { id, state, startedMs, restarts }: InspectedContainer,
    { nowMs, aheadMs }: { nowMs: number; aheadMs: number },
  ): number | null {
    if (state !== 'running') return null;
    const run = `${id} ${startedMs} ${restarts}`;
    const firstObservedMs = this.#firstObserved.get(run) ?? nowMs;
    this.#firstObserved.set(run, firstObservedMs);
    const { clockOffsetMs } = this.#lastStart;
    const clockWasSet = Math.abs(aheadMs - clockOffsetMs) > minClockStepMs;
    const reportedMs = startedMs - clockOffsetMs;
    return !clockWasSet && reportedMs <= firstObservedMs ? reportedMs : firstObservedMs;
  }
}
