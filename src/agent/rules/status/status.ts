import { endingNames, endings } from '../../../../machines/endings.ts';
import type { ReportedContainer, Sha } from '../../../../machines/types.ts';
import type { Fact } from '../../../core/doctor.rules.ts';
import type { DeferringFacts } from '../../../api/checkIn.rules.ts';
import { type HostPolicy, isDefaultPolicy } from '../../../api/hostPolicy.rules.ts';
import { type HostTrust, trustsOf } from '../bundle/trustSummary.ts';
import type { VerifiedImage } from '../release/releaseRecord.ts';
import { type CheckInAgeFacts, staleCheckIn } from '../schedule/checkInAge.ts';
import { describeProblems } from '../health/unhealthyServices.ts';
import type { ServiceTrouble } from './serviceTrouble.ts';
import { describeUnfinished } from '../state/revertTries.ts';
import type { State } from '../state/state.ts';

/** The output of `deployd status --json`, with the keys in this order (spec §2). */
export interface Status extends DeferringFacts {
  version: string;
  env: string;
  site: string;
  transport: string;
  laptop_mode: boolean;
  token: 'present' | 'ABSENT';
  token_expires_at: string | null;
  applied_sha: Sha | null;
  applied_version: string | null;
  desired_sha: Sha | null;
  in_sync: boolean;
  last_check_in: State['last_check_in'];
  /** Since when no check-in has succeeded; absent while they do. */
  offline_since?: string;
  last_outcome: State['last_outcome'];
  failing: State['failing'];
  /** Resources that a `down` could not remove yet; null without any. */
  purge_pending: NonNullable<State['purge_pending']> | null;
  lock: StatusFacts['lock'];
  /** Number of reports in the outbox. */
  pending_reports: number;
  /** Volumes that were found lost since the last apply; absent without any. */
  lost_volumes?: NonNullable<State['lost_volumes']>;
  /** Why the bootstrap grant on disk is not used; absent when none is refused. */
  grant_refused?: string;
  /** Who signed the applied bundle; absent where the host trusts no signatures and nobody has. */
  applied_signers?: readonly string[];
  /** The images of the applied bundle that were verified, and who signed them; absent as `applied_signers` is. */
  applied_images?: readonly VerifiedImage[];
  /** Ids of the swarm that the host was seen in last, and of its node there; absent where it never was in one. */
  swarm?: NonNullable<State['swarm']>;
  /** Whose signatures the host trusts; absent when it needs none. */
  trust?: StatusSettings['trust'];
  /** What the host permits and denies; absent when it says nothing of its own. */
  policy?: HostPolicy;
  /** Why the host is not in sync; absent when it is. */
  out_of_sync_reason?: string;
  /** What runs now, judged as a tick judges it; `unknown` where the engine does not say. */
  health: 'healthy' | 'unhealthy' | 'unknown';
  /** Why that is unknown, and what to do; absent when it is known. */
  health_unknown_reason?: string;
  /** Services of the applied release that are missing or not healthy; absent when there is none. */
  unhealthy_services?: readonly ServiceTrouble[];
  /** The project's containers as they are now; absent where the engine does not say. */
  containers?: readonly ReportedContainer[];
}

/** The settings that a status shows. */
export type StatusSettings = Pick<Status, 'env' | 'site' | 'transport' | 'laptop_mode'> & {
  interval_s: number;
  policy: HostPolicy;
  trust: HostTrust;
};

/** What runs now. */
export interface SeenServices {
  containers: readonly ReportedContainer[];
  /** Services of the applied release that are missing or not healthy. */
  troubles: readonly ServiceTrouble[];
}

/** Facts that are neither settings nor state. */
export interface StatusFacts extends Pick<CheckInAgeFacts, 'now' | 'bootTime'> {
  version: string;
  /** Why it is unknown what runs, in a line with what to do. */
  seen: Fact<SeenServices>;
  token: boolean;
  deferring: DeferringFacts;
  /** Null when the lock cannot be read. */
  lock: { held: boolean; pid: number | null; since: string | null } | null;
}

/** The status of this host, from its settings, its state and the other facts. */
export function statusOf(settings: StatusSettings, state: State, facts: StatusFacts): Status {
  const { env, site, transport, laptop_mode, policy, trust } = settings;
  const reason = outOfSyncReason(state) ?? reasonNow(settings, state, facts);
  const {
    applied_sha,
    applied_version,
    applied_signers = [],
    applied_images = [],
    last_check_in,
    last_outcome,
    failing,
  } = state;
  return {
    version: facts.version,
    ...{ env, site, transport, laptop_mode },
    token: facts.token ? 'present' : 'ABSENT',
    token_expires_at: facts.token ? state.token.expires_at : null,
    ...{ applied_sha, applied_version },
    desired_sha: last_check_in?.desired_sha ?? null,
    in_sync: facts.token && reason === null,
    last_check_in,
    ...(typeof state.offline_since === 'string' && { offline_since: state.offline_since }),
    ...{ last_outcome, failing },
    ...facts.deferring,
    purge_pending: state.purge_pending ?? null,
    lock: facts.lock,
    pending_reports: state.pending_reports.length,
    ...((state.lost_volumes ?? []).length > 0 && { lost_volumes: state.lost_volumes ?? [] }),
    ...(state.token.grant_refused !== undefined && { grant_refused: state.token.grant_refused }),
    ...(((trust.bundles !== null && applied_sha !== null) || applied_signers.length > 0) && { applied_signers }),
    ...(((trust.images !== null && applied_sha !== null) || applied_images.length > 0) && { applied_images }),
    ...(state.swarm && { swarm: state.swarm }),
    ...(trustsOf(trust).length > 0 && { trust }),
    ...(!isDefaultPolicy(policy) && { policy }),
    ...(reason !== null && { out_of_sync_reason: reason }),
    ...healthOf(facts.seen),
  };
}

type Health = Pick<Status, 'health' | 'health_unknown_reason' | 'unhealthy_services' | 'containers'>;

function healthOf(seen: StatusFacts['seen']): Health {
  if ('unknown' in seen) return { health: 'unknown', health_unknown_reason: seen.unknown };
  const { containers, troubles } = seen.known;
  const isHealthy = troubles.length === 0;
  return {
    health: isHealthy ? 'healthy' : 'unhealthy',
    ...(!isHealthy && { unhealthy_services: troubles }),
    containers,
  };
}

/** Why a host that was in sync at its last tick is not now, or why nobody knows; null when it still is. */
function reasonNow(settings: StatusSettings, state: State, { now, bootTime, seen }: StatusFacts): string | null {
  if ('unknown' in seen) return `unknown: ${seen.unknown}`;
  const { troubles } = seen.known;
  if (troubles.length > 0) return `unhealthy: ${describeProblems(troubles)}`;
  const { interval_s: intervalS, laptop_mode: laptop } = settings;
  return staleCheckIn(state, { now, bootTime, intervalS, laptop })?.line ?? null;
}

/** Why the host differed from the desired state at its last tick; null when it was in sync. */
export function outOfSyncReason(state: State): string | null {
  const { applied_sha, attempt, failing, last_check_in, last_outcome, unreverted } = state;
  const desired = last_check_in?.desired_sha ?? null;
  if (unreverted) return describeUnfinished(unreverted);
  if (failing !== null && failing.sha === desired) {
    return `${failing.sha} failed ${formatCount(failing.count)}, next try at ${failing.retry_at}: ${failing.line}`;
  }
  if (last_outcome !== null && isFailure(last_outcome.outcome)) return formatOutcome(last_outcome);
  if (last_outcome !== null && waits(last_outcome)) return last_outcome.detail;
  if (last_check_in === null) return 'no check-in yet';
  if (attempt !== null) return `${attempt.sha} is half applied (${attempt.phase}); the next tick goes on with it`;
  return desired === applied_sha ? null : `wanted is ${desired ?? 'nothing'}, applied is ${applied_sha ?? 'nothing'}`;
}

/** True where what is desired waits for the end of a hold, or for a window. */
export function waits({ outcome }: NonNullable<State['last_outcome']>): boolean {
  return outcome === 'held' || outcome === 'outsideWindow';
}

/** Outcome, code and detail in one line, without the missing ones. */
export function formatOutcome({ outcome, code, detail }: NonNullable<State['last_outcome']>): string {
  return [outcome, code, detail].filter((part) => part !== null).join(': ');
}

/** True for the name of a failed ending or report outcome, and for an unknown name. */
export function isFailure(outcome: string): boolean {
  const succeeded = endingNames.filter((name) => endings[name].meta.exit === 0 || endings[name].meta.exit === 75);
  return !succeeded.some((name) => name === outcome || endings[name].meta.report === outcome);
}

function formatCount(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
