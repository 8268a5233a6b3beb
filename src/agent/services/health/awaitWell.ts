import { clockMs, wallAheadMs } from '../../journal/clock.ts';
import { ailingOf, type Watched } from '../../rules/health/unhealthyServices.ts';
import { wellnessOf, type Inspected } from '../../rules/health/health.ts';
import { expectedServices } from '../../rules/release/record.ts';
import { Runs } from '../../rules/health/containerUptime.ts';
import { follow, type Followed } from './follow.ts';
import { notHealthy } from './notHealthy.ts';
import type { Tools } from '../tools.ts';

/**
 * Waits until every container of the release is well (spec §12), by a clock that never jumps. Throws UNHEALTHY with what the
 * sick ones wrote.
 */
export async function awaitWell(tools: Tools, sha: string, signal: AbortSignal): Promise<void> {
  const { containers, releases, settings, tick } = tools;
  const expected = expectedServices(await releases.readRecord(sha));
  const beganMs = clockMs();
  const untilMs = beganMs + settings.health_timeout_s * 1000;
  const followed = await follow(containers, tick.broughtUp.atMs + tick.broughtUp.aheadMs);
  const lookAt = lookerOf(tools, followed);
  try {
    for (;;) {
      const { watched, alone, leftMs } = lookAt(followed.containers());
      const done = watched.filter(({ wellness }) => wellness === 'well').length;
      tick.howFar = () => ({ done, total: watched.length, unit: 'containers' });
      if (ailingOf(watched, expected).length === 0) {
        tick.well = watched.map(({ container }) => ({ ...container, healthLog: [] }));
        return;
      }
      if (clockMs() >= untilMs || watched.some(({ wellness }) => wellness === 'lost')) {
        const blamed = ailingOf(alone, expected).length > 0 ? alone : watched;
        throw await notHealthy(tools, blamed, { expected, beganMs });
      }
      await followed.next(Math.min(leftMs, untilMs - clockMs()), signal);
    }
  } finally {
    followed.close();
  }
}

/** What one look at the containers shows. */
interface Look {
  /** Each with the others: all settle from the last start of all, since those that ran before may yet fall over it. */
  watched: Watched[];
  /** Each by itself: where one of them is sick, none is to blame that only waited for another. */
  alone: Watched[];
  /** Milliseconds that those that run have yet to settle; Infinity where they have. */
  leftMs: number;
}

function lookerOf({ settings, tick }: Tools, { exits }: Followed): (seen: Inspected[]) => Look {
  const settleMs = settings.settle_s * 1000;
  const runs = new Runs(tick.broughtUp);
  const seenExits = new Map<string, number>();
  return (seen) => {
    const nowMs = clockMs();
    const look = { nowMs, aheadMs: wallAheadMs() };
    const began = new Map(seen.map((container) => [container.id, runs.beganMs(container, look)]));
    for (const { id, state, exitCode } of seen) if (hasExited(state)) seenExits.set(id, exitCode);
    const lastMs = Math.max(tick.broughtUp.atMs, ...[...began.values()].filter((each) => each !== null));
    const isSettled = (sinceMs: number | null) => sinceMs !== null && nowMs - sinceMs >= settleMs;
    const watchedOf = (container: Inspected, sinceMs: number | null): Watched => ({
      container,
      wellness: wellnessOf(container, isSettled(sinceMs)),
      lastExit: seenExits.get(container.id) ?? exits.get(container.id) ?? null,
    });
    return {
      watched: seen.map((each) => watchedOf(each, began.get(each.id) === null ? null : lastMs)),
      alone: seen.map((each) => watchedOf(each, began.get(each.id) ?? null)),
      leftMs: nowMs - lastMs < settleMs ? lastMs + settleMs - nowMs : Infinity,
    };
  };
}

function hasExited(state: string): boolean {
  return state === 'restarting' || state === 'exited' || state === 'dead';
}
