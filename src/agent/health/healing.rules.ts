import type { ServiceProblem } from '../../../machines/types.ts';
import { pauseAfter, remainingPauseS } from '../release/revertTries.rules.ts';
import type { HealingHistory, HealingRecord, RestartCount } from '../state/state.rules.ts';

/** A service that needed a heal on this many ticks in a row is reported as unhealthy, whether the last heal succeeded or not. */
export const maxRow = 3;

/**
 * A service that has been healthy for this long, or for its last pause if that is longer, starts again without a pause.
 */
const forgetS = 600;

/** The problems that a heal cures now, and those that it leaves. */
export interface HealingPlan {
  due: ServiceProblem[];
  left: ServiceProblem[];
}

/**
 * Selects the problems to heal: all with a cure, unless the pause after the last heal of the service still lasts.
 * Nothing is healed while a loss of data waits for an operator.
 */
export function planHealing(problems: readonly ServiceProblem[], history: HealingHistory, now: Date): HealingPlan {
  if (problems.some(({ cure }) => cure === 'accept')) return { due: [], left: [...problems] };
  const { due = [], left = [] } = Object.groupBy(problems, (problem) => {
    const isPaused = problem.isFailure && remainingPauseS(history[problem.service]?.retry_at, now) > 0;
    return problem.cure === 'none' || isPaused ? 'left' : 'due';
  });
  const isLeft = new Set(left.map(({ service }) => service));
  return {
    due: due.filter(({ service }) => !isLeft.has(service)),
    left: problems.filter(({ service }) => isLeft.has(service)),
  };
}

/**
 * The records after an observation of the host: a service that fails despite its heal counts as failed once more in a
 * row, and the record of a working service expires. Under a hold, or after an interrupted tick, nothing is counted.
 */
export function afterObservation(
  history: HealingHistory,
  { problems, restarts }: { problems: readonly ServiceProblem[]; restarts: ReadonlyMap<string, RestartCount> },
  now: Date,
): HealingHistory {
  const failed = new Set(problems.filter(({ isFailure }) => isFailure).map(({ service }) => service));
  const names = new Set([...Object.keys(history), ...failed]);
  const records = [...names].flatMap((service): [string, HealingRecord][] => {
    const before = history[service];
    const counted = restarts.get(service) ?? before?.restarts;
    const more = counted === undefined ? {} : { restarts: counted };
    if (failed.has(service)) {
      const { row = 0, healed = true, heals = 0, retry_at = null } = before ?? {};
      return [
        [
          service,
          { row: healed || row === 0 ? row + 1 : row, healed: false, heals, at: now.toISOString(), retry_at, ...more },
        ],
      ];
    }
    if (before === undefined || isForgotten(before, now)) return [];
    return [[service, { ...before, row: 0, healed: false, retry_at: null, ...more }]];
  });
  return Object.fromEntries(records.sort(([one], [other]) => (one < other ? -1 : 1)));
}

/** The records after a heal of these services. */
export function afterHealing(history: HealingHistory, services: readonly string[], now: Date): HealingHistory {
  const healed = services.flatMap((service): [string, HealingRecord][] => {
    const before = history[service];
    if (before === undefined) return [];
    const heals = before.heals + 1;
    const pauseS = before.row < maxRow ? 0 : pauseAfter(heals);
    const retry_at = pauseS === 0 ? null : new Date(now.getTime() + pauseS * 1000).toISOString();
    return [[service, { ...before, healed: true, heals, retry_at }]];
  });
  return { ...history, ...Object.fromEntries(healed) };
}

/** The services that failed on too many ticks in a row, as text. */
export function relapses(history: HealingHistory, services: readonly string[], now: Date): string[] {
  return services.flatMap((service) => {
    const record = history[service];
    if (record === undefined || record.row < maxRow) return [];
    const waitS = remainingPauseS(record.retry_at, now);
    const next = waitS > 0 ? `; next heal in ${waitS}s` : '';
    return [`${service} needed a heal on ${record.row} ticks in a row, healed ${formatTimes(record.heals)}${next}`];
  });
}

/**
 * True when the engine restarted a container more often than once a minute: since the last count, or else since its creation.
 */
export function isRestartedTooOften(
  { id, restarts, createdMs }: { id: string; restarts: number; createdMs: number },
  counted: RestartCount | undefined,
  nowMs: number,
): boolean {
  const isKnown = counted?.id === id && counted.count <= restarts && Date.parse(counted.at) < nowMs;
  const [count, sinceMs] = isKnown ? [restarts - counted.count, Date.parse(counted.at)] : [restarts, createdMs];
  return count > Math.max(1, (nowMs - sinceMs) / 60_000);
}

function isForgotten({ at, heals }: HealingRecord, now: Date): boolean {
  const healthyS = (now.getTime() - Date.parse(at)) / 1000;
  return healthyS < 0 || healthyS >= Math.max(forgetS, pauseAfter(heals));
}

function formatTimes(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
