import type { BackendState } from '../../../machines/backend.ts';
import { type CheckInRequest, recentForS } from '../../api/checkIn.rules.ts';
import type { BackendOrder, BackendRow, SortColumn } from '../store/database.ts';
import { outcomeOfTrouble } from '../webhooks/event.rules.ts';

/** When silence of a host is too long. */
export interface SilenceLimits {
  /** Milliseconds since 1970. */
  now: number;
  offline_after_s: number;
  laptop_offline_after_s: number;
}

/**
 * Whether a host is healthy now: null if it has never checked in, is offline, or has missed the check-ins of three of its own
 * intervals (of a day for a laptop). A newest report `unhealthy` outweighs the check-in of the same tick.
 */
export function hostHealth(row: BackendRow, limits: SilenceLimits): boolean | null {
  if (row.healthy === null || isSilent(row, limits)) return null;
  const trouble = row.trouble && outcomeOfTrouble(row.trouble);
  return row.healthy === 1 && trouble !== 'unhealthy';
}

/** True before the background work has noticed it, too. */
function isSilent(row: BackendRow, { now, offline_after_s, laptop_offline_after_s }: SilenceLimits): boolean {
  const { state, last_seen_at } = row;
  if (state === 'offline' || last_seen_at === null) return true;
  const [laptop, silentForS] = [row.laptop === 1, (now - last_seen_at) / 1000];
  if (silentForS > (laptop ? laptop_offline_after_s : offline_after_s)) return true;
  const intervalS = intervalOf(row);
  return intervalS !== null && silentForS > recentForS({ intervalS, laptop });
}

/** Seconds; null for an older agent, which does not send it. */
function intervalOf({ check_in }: BackendRow): number | null {
  const checkIn = check_in === null ? null : (JSON.parse(check_in) as CheckInRequest);
  return checkIn?.agent.interval_s ?? null;
}

/** States that are separated by commas, as the schema permits them. */
export function parseStates(text: string | undefined): BackendState[] | undefined {
  return text?.split(',') as BackendState[] | undefined;
}

/** An order as the schema permits it: a column, in descending order after a `-`; without one, by id. */
export function parseOrder(text = 'id'): BackendOrder {
  return { column: text.replace(/^-/, '') as SortColumn, isDescending: text.startsWith('-') };
}

const FIRST_MS = 5000;
const LONGEST_MS = 10 * 60_000;

/** Milliseconds until a step that has failed so many times is tried again: 5 s, doubled each time, at most 10 minutes. */
export function stepBackoff(tries: number): number {
  return Math.min(FIRST_MS * 2 ** Math.max(tries - 1, 0), LONGEST_MS);
}
