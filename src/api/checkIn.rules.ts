import type { Static } from 'typebox';
import type { CheckIn, Report as ReportSchema } from './agentSchemas.ts';

export type CheckInRequest = Static<typeof CheckIn>;

/** The swarm that a host is a manager of; absent outside of one, and ignored by older services. */
export type ToldSwarm = NonNullable<CheckInRequest['swarm']>;

/** The reason why the changes of a host are deferred; absent without one. Older services ignore it. */
export type DeferringFacts = Pick<CheckInRequest, 'hold' | 'window_opens_at'>;

export type ToldHold = NonNullable<CheckInRequest['hold']>;

/**
 * The privileges that this host permits, if they differ from the default; the tenancy service warns of bundles that
 * exceed them.
 */
export type ReportedPolicy = NonNullable<CheckInRequest['policy']>;

/** The body of a report about one tick (spec §10). Times are RFC 3339, UTC. */
export type Report = Static<typeof ReportSchema>;

/** The reason why the changes of a host are deferred; a hold takes precedence over windows. */
export type Deferral = 'hold' | 'window';

/** The reason for the deferral of a host with these facts; null without one. */
export function deferralOf({ hold, window_opens_at }: DeferringFacts): Deferral | null {
  if (hold !== undefined) return 'hold';
  return window_opens_at === undefined ? null : 'window';
}

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
 * Age at which the last check-in of a host is no longer recent: three intervals. It is never shorter than the time
 * until the next check-in is due.
 */
export function recentForS({ intervalS, laptop }: { intervalS: number; laptop: boolean }): number {
  const dueS = intervalS + maxIdleTickS;
  return Math.max(laptop ? laptopSilenceS : 3 * intervalS, dueS);
}

/** Default silence after which the tenancy service takes a host for offline. */
export const defaultOfflineAfterS = defaultHealthTimeoutS + longestPauseS(defaultIntervalS);

/** Largest sequence of a bundle. */
export const maxSequence = 2 ** 48;

/** Largest sequence of a push. The service keeps the higher ones, so that no push leaves an environment without any. */
export const maxPushedSequence = maxSequence / 2;

/** Limits of a bundle where nothing else is configured: bytes of the archive, bytes of its files, files and directories. */
export const defaultLimits = { bundle_bytes: 2 ** 28, unpacked_bytes: 2 ** 30, bundle_entries: 10_000 } as const;

/**
 * True for the reason of a heartbeat from a host that defers what is desired, by a hold or by its windows: it may not
 * be healthy.
 */
export function isDeferralReason(reason: string): boolean {
  return reason.startsWith('waits:');
}

/** Codes in error bodies of the tenancy service that the agent acts on (spec §10); every other code is only shown. */
export const tenancyErrorCodes = { envMismatch: 'AGENT_ENV_MISMATCH', cloned: 'HOST_CLONED' } as const;

/** Milliseconds that a host waits after a bundle has failed so many times: 1, 2, 4 … 30 minutes. */
export function retryPauseMs(failures: number): number {
  return Math.min(2 ** (failures - 1), 30) * 60_000;
}
