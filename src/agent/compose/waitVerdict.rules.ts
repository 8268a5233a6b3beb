import { unhealthyServicesAmong, type WatchedContainer } from '../health/unhealthyServices.rules.ts';
import type { ExpectedService } from '../release/services.rules.ts';

/** Health of the containers at one moment. */
export interface HealthSnapshot {
  nowMs: number;
  /** All containers settle from the last start of any, since a new container may break one that ran before. */
  watched: WatchedContainer[];
  /** Each container settles by itself, so that a failed wait does not name one that only waited for another. */
  individually: WatchedContainer[];
  /** Milliseconds until the next decision without a change: containers settle, a job is overdue. */
  remainingMs: number;
}

/**
 * Decides when a wait has failed: at once if a container has, otherwise at the deadline. While jobs run, the wait
 * continues only for them, and after the last one containers may still settle.
 */
export class WaitVerdict {
  readonly #expected: readonly ExpectedService[];
  readonly #settleMs: number;
  readonly #deadlineMs: number;
  #jobSeenMs = -Infinity;

  constructor(
    expected: readonly ExpectedService[],
    { deadlineMs, settleMs }: { deadlineMs: number; settleMs: number },
  ) {
    this.#expected = expected;
    this.#settleMs = settleMs;
    this.#deadlineMs = deadlineMs;
  }

  /** The containers that caused a failed wait; null while it continues. */
  blamed({ nowMs, watched, individually }: HealthSnapshot): WatchedContainer[] | null {
    const jobs = watched.filter(isAwaitedJob);
    const causes = unhealthyServicesAmong(individually, this.#expected).length > 0 ? individually : watched;
    if (watched.some(({ healthStatus }) => healthStatus === 'failed')) return causes;
    const deadlineMs = Math.max(this.#deadlineMs, this.#jobSeenMs + this.#settleMs);
    if (jobs.length > 0) this.#jobSeenMs = nowMs;
    if (jobs.length === 0) return nowMs >= deadlineMs ? causes : null;
    if (nowMs < this.#deadlineMs) return null;
    const others = individually.filter((each) => !isAwaitedJob(each));
    const names = new Set(jobs.map(({ container }) => container.service));
    const expected = this.#expected.filter(({ name }) => !names.has(name));
    return unhealthyServicesAmong(others, expected).length > 0 ? others : null;
  }

  /** Milliseconds until the deadline; Infinity when it has passed. */
  leftMs(nowMs: number): number {
    const ends = [this.#deadlineMs, this.#jobSeenMs + this.#settleMs].filter((endMs) => endMs > nowMs);
    return Math.min(...ends) - nowMs;
  }
}

/** True for a running job within its time limit. */
function isAwaitedJob({ healthStatus, job }: WatchedContainer): boolean {
  return healthStatus === 'pending' && job !== undefined && job.overdueS === null;
}
