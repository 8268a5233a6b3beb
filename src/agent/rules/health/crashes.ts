import type { Inspected, Seen } from './health.ts';
import type { State } from '../state/state.ts';

/** What a start is held against. */
export interface Since {
  nowMs: number;
  /** When the host was last seen; after a tick that found all well, when that ended. */
  seenMs: number;
  settleMs: number;
  intervalMs: number;
}

/** When the containers were last looked at; 0 where they never were, or by a clock that was set back since. */
export function lastSeenMs(
  { last_check_in, last_outcome }: Pick<State, 'last_check_in' | 'last_outcome'>,
  nowMs: number,
): number {
  const wasWell = last_outcome?.outcome === 'applied' || last_outcome?.outcome === 'heartbeat';
  const seen = [timeOf(last_check_in?.at), wasWell ? timeOf(last_outcome.at) : 0];
  return Math.max(0, ...seen.filter((ms) => ms <= nowMs));
}

/** Whether one that runs without a healthcheck was started since, or has not settled, as far as its listed uptime tells. */
export function isSuspect(container: Seen, { nowMs, seenMs, settleMs, intervalMs }: Since): boolean {
  const { state, health } = container;
  if (state !== 'running' || health !== null) return false;
  const [leastMs, mostMs] = 'upMs' in container ? container.upMs : [0, 0];
  const isRecent = leastMs < Math.max(settleMs, intervalMs);
  return isRecent && (leastMs < settleMs || mostMs <= nowMs - seenMs);
}

/**
 * Whether it died by itself since, or has not settled after that. The engine counts its own restarts from 0 since somebody else
 * (an operator, compose, its own start) started the container: so a count tells of whom the last start was. What has run for an
 * interval is well again, and a start that is yet to come, as clocks are set back, tells nothing.
 */
export function hasCrashed({ state, health, restarts, startedMs }: Inspected, since: Since): boolean {
  const upMs = since.nowMs - startedMs;
  if (state !== 'running' || health !== null || restarts === 0 || !(upMs >= 0)) return false;
  return upMs < since.settleMs || (startedMs > since.seenMs && upMs < Math.max(since.settleMs, since.intervalMs));
}

function timeOf(at: string | undefined): number {
  return at === undefined ? 0 : Date.parse(at);
}
