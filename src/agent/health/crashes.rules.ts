import {
  type InspectedContainer,
  isRestartedByEngine,
  type ObservedContainer,
  type TimedExit,
} from '../engine/container.rules.ts';
import type { State } from '../state/state.rules.ts';

/** Times that decide whether a start of a container is recent. */
export interface CrashWindow {
  nowMs: number;
  /** The last observation of the host; after a tick that found it healthy, the end of that tick. */
  observedMs: number;
  settleMs: number;
  intervalMs: number;
}

/** The last observation of the containers; 0 if there was none, or if the clock has been set back since. */
export function lastObservedMs(
  { last_check_in, last_outcome }: Pick<State, 'last_check_in' | 'last_outcome'>,
  nowMs: number,
): number {
  const wasHealthy = last_outcome?.outcome === 'applied' || last_outcome?.outcome === 'heartbeat';
  const times = [timeOf(last_check_in?.at), wasHealthy ? timeOf(last_outcome.at) : 0];
  return Math.max(0, ...times.filter((ms) => ms <= nowMs));
}

/** True when a running container may have been started since the last observation, or has not settled, by the uptime in the engine's list. */
export function mayHaveCrashed(
  container: ObservedContainer,
  { nowMs, observedMs, settleMs, intervalMs }: CrashWindow,
): boolean {
  if (container.state !== 'running') return false;
  const [minMs, maxMs] = 'upMs' in container ? container.upMs : [0, 0];
  const isRecent = minMs < Math.max(settleMs, intervalMs);
  return isRecent && (minMs < settleMs || maxMs <= nowMs - observedMs);
}

/**
 * True when a container crashed and was restarted by the engine since the last observation, or has not settled after that. The
 * engine resets its restart count when anybody else starts the container, so a count above 0 means that the engine made the
 * last start. A container that has run for an interval is healthy again; a start in the future (a clock set back) is ignored.
 */
export function hasCrashed({ state, health, restarts, startedMs }: InspectedContainer, window: CrashWindow): boolean {
  return state === 'running' && health === null && restarts > 0 && isRecentCrash(startedMs, window);
}

/** True for a crash since the last observation, or one so recent that the restarted container has not settled. */
export function isRecentCrash(atMs: number, { nowMs, observedMs, settleMs, intervalMs }: CrashWindow): boolean {
  const sinceMs = nowMs - atMs;
  return sinceMs >= 0 && (sinceMs < settleMs || (atMs > observedMs && sinceMs < Math.max(settleMs, intervalMs)));
}

function timeOf(at: string | undefined): number {
  return at === undefined ? 0 : Date.parse(at);
}

/** A container that ended too often in too short a time. */
export interface CrashLoop {
  exits: number;
  /** From the first of these exits to the last one. */
  seconds: number;
  lastExit: number;
}

/** So many exits within this time are a crash loop. */
const [loopExits, loopMs] = [3, 30_000];

/**
 * A crash loop among the exits of a container, oldest first; null if there is none. An exit with 0 is the end of a
 * container that the engine restarts only after a failure.
 */
export function findCrashLoop(
  container: Pick<InspectedContainer, 'restartPolicy'>,
  exits: readonly TimedExit[],
): CrashLoop | null {
  const crashes = isRestartedByEngine(container) ? exits : exits.filter(({ code }) => code !== 0);
  for (const [index, first] of crashes.entries()) {
    const last = crashes[index + loopExits - 1];
    if (last === undefined || last.atMs - first.atMs > loopMs) continue;
    const seconds = Math.round((last.atMs - first.atMs) / 1000);
    return { exits: loopExits, seconds, lastExit: last.code };
  }
  return null;
}

/** The exits of containers by their restart counts, for an engine that sends no events: each at its first observation. */
export class RestartCounts {
  readonly #counts = new Map<string, number>();
  readonly #exits = new Map<string, TimedExit[]>();

  /** The exits of a container that were observed so far, with `code` as the exit code of the last one. */
  exitsOf({ id, restarts }: InspectedContainer, { nowMs, code }: { nowMs: number; code: number }): TimedExit[] {
    const known = this.#counts.get(id) ?? restarts;
    this.#counts.set(id, restarts);
    const exits = this.#exits.get(id) ?? [];
    for (let count = Math.max(known, restarts - loopExits); count < restarts; count += 1)
      exits.push({ atMs: nowMs, code });
    this.#exits.set(id, exits.slice(-loopExits));
    return exits.slice(-loopExits);
  }
}
