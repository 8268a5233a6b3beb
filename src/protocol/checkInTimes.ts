/**
 * How often hosts check in, in seconds: numbers that agent and tenancy service share. Where one depends on another, it is
 * calculated from that.
 */

/** Default of the agent's `interval_s`. */
export const defaultIntervalS = 60;
/** The pause between two ticks is longer than `interval_s` by up to this much. */
export const maxIntervalJitterS = 10;
/** The pause, plus more than the duration of a tick without work. */
export const maxIdleTickS = 30;
/** Default of the agent's `http_timeout_s`, the limit of a call. */
export const defaultHttpTimeoutS = 30;
/** Default of the agent's `health_timeout_s`; an older agent does not check in while it waits for that long. */
export const defaultHealthTimeoutS = 300;

/** A laptop may be silent for a day: it is switched off, or on the way. */
export const laptopSilenceS = 86_400;

/** Longest time between two check-ins of an agent with this interval that can reach the tenancy service. */
export function longestPauseS(intervalS: number): number {
  return intervalS + maxIntervalJitterS + defaultHttpTimeoutS;
}

/**
 * Age at which the last check-in of a host is no longer recent: three intervals. It is never shorter than the time until the next
 * check-in is due.
 */
export function recentForS({ intervalS, laptop }: { intervalS: number; laptop: boolean }): number {
  const dueS = intervalS + maxIdleTickS;
  return Math.max(laptop ? laptopSilenceS : 3 * intervalS, dueS);
}

/** Default silence after which the tenancy service takes a host for offline. */
export const defaultOfflineAfterS = defaultHealthTimeoutS + longestPauseS(defaultIntervalS);
