import type { BackendRow } from '../store/database.ts';
import { outcomeOfTrouble } from './webhooks/trouble.ts';

/** When silence of a host is too long. */
export interface SilenceLimits {
  /** Milliseconds since 1970. */
  now: number;
  offline_after_s: number;
  laptop_offline_after_s: number;
}

/**
 * Whether a host is healthy, as far as it is known now: null for one that has been silent for too long, or never checked in. One
 * whose newest report is `unhealthy` is not, whatever it told at the beginning of that tick.
 */
export function hostHealth(row: BackendRow, limits: SilenceLimits): boolean | null {
  if (row.healthy === null || isSilent(row, limits)) return null;
  const trouble = row.trouble && outcomeOfTrouble(row.trouble);
  return row.healthy === 1 && trouble !== 'unhealthy';
}

/** True before the background work has noticed it, too. */
function isSilent({ state, laptop, last_seen_at }: BackendRow, limits: SilenceLimits): boolean {
  const { now, offline_after_s, laptop_offline_after_s } = limits;
  const limitS = laptop === 1 ? laptop_offline_after_s : offline_after_s;
  return state === 'offline' || last_seen_at === null || now - last_seen_at > limitS * 1000;
}
