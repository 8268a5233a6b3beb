import { endingNames, endings } from '../../../machines/endings.ts';
import type { ReportedContainer, ServiceProblem, Sha } from '../../../machines/types.ts';
import type { Violation } from '../../api/agentSchemas.ts';
import type { DeferringFacts } from '../../api/checkIn.rules.ts';
import { type HostPolicy, isDefaultPolicy, permitKeys } from '../../api/hostPolicy.rules.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import type { Fact } from '../../core/doctor.rules.ts';
import { terminalSafe } from '../../core/text.rules.ts';
import { formatStanding } from '../checkIn/hold.rules.ts';
import type { HostTrust, Signed } from '../config/configKeys.ts';
import { describeProblems } from '../health/unhealthyServices.rules.ts';
import { describeUnfinished } from '../release/revertTries.rules.ts';
import { describeLoss, describeResources, purgeDeadline } from '../release/volumes.rules.ts';
import { describeViolation, type State, type VerifiedImage } from '../state/state.rules.ts';
import { type CheckInAgeFacts, formatAge, staleCheckIn } from '../checkIn/checkInAge.rules.ts';

/** The output of `deployd status --json`, with the keys in this order (spec §2). */
interface Status extends DeferringFacts {
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
  /** Start of the period without a successful check-in; absent after a successful one. */
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
  /** Why the bootstrap grant on disk is not used; absent if no grant is refused. */
  grant_refused?: string;
  /** The signers of the applied bundle; absent if the host trusts no signers and nobody has signed. */
  applied_signers?: readonly string[];
  /**
   * The verified images of the applied bundle, and their signers; absent under the same conditions as
   * `applied_signers`.
   */
  applied_images?: readonly Omit<VerifiedImage, 'trust_root'>[];
  /** Parts of the applied release that trust or policy no longer allow; absent without any. */
  violations?: readonly Violation[];
  /** Ids of the swarm that the host was last seen in, and of its node there; absent if it never was in one. */
  swarm?: NonNullable<State['swarm']>;
  /** The trusted signers of the host; absent when it requires no signatures. */
  trust?: StatusSettings['trust'];
  /** The permits and denials of the host; absent without a policy. */
  policy?: HostPolicy;
  /** Why the host is not in sync; absent when it is. */
  out_of_sync_reason?: string;
  /** The current health, by the rules of a tick; `unknown` if the engine does not answer. */
  health: 'healthy' | 'unhealthy' | 'unknown';
  /** Why the health is unknown, and the fix; absent when it is known. */
  health_unknown_reason?: string;
  /** Services of the applied release that are missing or not healthy; absent if there are no such services. */
  unhealthy_services?: readonly ServiceTrouble[];
  /** The project's containers as they are now; absent if the engine does not answer. */
  containers?: readonly ReportedContainer[];
}

/** The settings that a status shows. */
type StatusSettings = Pick<Status, 'env' | 'site' | 'transport' | 'laptop_mode'> & {
  interval_s: number;
  policy: HostPolicy;
  trust: HostTrust;
};

/** The observation of the running containers. */
export interface SeenServices {
  containers: readonly ReportedContainer[];
  /** Services of the applied release that are missing or not healthy. */
  troubles: readonly ServiceTrouble[];
}

/** Facts that are neither settings nor state. */
export interface StatusFacts extends Pick<CheckInAgeFacts, 'now' | 'bootTime'> {
  version: string;
  /** Why the state of the containers is unknown, in a line with the fix. */
  seen: Fact<SeenServices>;
  token: boolean;
  deferring: DeferringFacts;
  violations: readonly Violation[];
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
    ...(((trust.images !== null && applied_sha !== null) || applied_images.length > 0) && {
      applied_images: applied_images.map(({ trust_root: _root, ...image }) => image),
    }),
    ...(facts.violations.length > 0 && { violations: facts.violations }),
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

/** Why a host that was in sync at its last tick is not in sync now, or why that is unknown; null when it still is. */
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
  if (attempt !== null) return `${attempt.sha} is half applied (${attempt.phase}); the next tick continues it`;
  return desired === applied_sha ? null : `desired is ${desired ?? 'nothing'}, applied is ${applied_sha ?? 'nothing'}`;
}

/** True if the desired state waits for the end of a hold, or for a window. */
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

/** A service that is missing or not healthy, and how: `missing`, `exited(137)`, `unhealthy` … */
export type ServiceTrouble = Pick<ServiceProblem, 'service' | 'detail'>;

/** The result of an observation, one entry for each service and detail. */
export function troublesOf(problems: readonly ServiceProblem[]): ServiceTrouble[] {
  const troubles = problems.map(({ service, detail }) => ({ service, detail }));
  return troubles.filter(
    (trouble, index) =>
      troubles.findIndex(({ service, detail }) => service === trouble.service && detail === trouble.detail) === index,
  );
}

/** Facts that the text shows in addition to the status. */
interface StatusContext {
  state: State;
  /** Why the state file cannot be used, null when it is valid. */
  stateError: string | null;
  /** Fingerprints of usable key files and trust roots, by path. */
  fingerprints?: ReadonlyMap<string, string>;
  now: Date;
}

/** The status as text: headlines, then one aligned row for each fact. */
export function formatStatus(status: Status, context: StatusContext): string {
  const rows = rowsOf(status, context).filter((row): row is [string, string] => row[1] !== null);
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`);
  return [...headlines(status, context), ...lines].map(terminalSafe).join('\n');
}

function headlines(status: Status, { state, stateError }: StatusContext): string[] {
  const absent = status.token === 'ABSENT' ? ['token ABSENT'] : [];
  if (stateError !== null) return [...absent, stateError];
  const { out_of_sync_reason: reason, violations = [] } = status;
  const lines = [...absent, ...violations.map(describeViolation)];
  if (reason !== undefined) return [...lines, reason.startsWith('unknown: ') ? reason : `not in sync: ${reason}`];
  return absent.length > 0 ? lines : [...lines, `in sync: ${formatApplied(status, state) ?? 'nothing is to run here'}`];
}

function rowsOf(status: Status, { state, now, fingerprints = new Map() }: StatusContext): [string, string | null][] {
  const { last_check_in: checkIn, last_outcome: outcome, failing, purge_pending: purge, lock } = status;
  const { env, site, transport, laptop_mode: isLaptop } = status;
  return [
    ['host', `environment ${env}, site ${site}, transport ${transport}${isLaptop ? ', laptop' : ''}`],
    ['swarm', status.swarm === undefined ? null : `node ${status.swarm.node} of ${status.swarm.id}`],
    ['token', status.token === 'present' ? `present, ${formatExpiry(status.token_expires_at, now)}` : 'ABSENT'],
    ['trouble', state.token.trouble],
    ['grant', state.token.grant_refused ?? null],
    ['applied', formatApplied(status, state) ?? 'nothing'],
    ['containers', formatContainers(status)],
    ['signed by', status.applied_signers === undefined ? null : status.applied_signers.join(', ') || 'nobody'],
    ['images', status.applied_images === undefined ? null : formatImages(status.applied_images)],
    ['desired', status.desired_sha ?? 'nothing'],
    ['hold', status.hold === undefined ? null : formatStanding(status.hold)],
    ['windows', status.window_opens_at === undefined ? null : `closed, the next opens at ${status.window_opens_at}`],
    ['attempt', state.attempt && `${state.attempt.sha}, ${state.attempt.phase} since ${state.attempt.at}`],
    ['failing', failing && `${failing.sha}, ${failing.count} in a row, next try at ${failing.retry_at}`],
    ['cause', /^cause: (.*)$/m.exec(outcome?.detail ?? '')?.[1] ?? null],
    [
      'still to go',
      purge &&
        `${describeResources(purge)}; in use outside the project, tried until ${purgeDeadline(purge).toISOString()}`,
    ],
    ['lost volumes', formatLost(state.lost_volumes ?? [])],
    ['last check-in', checkIn ? `${checkIn.action} at ${checkIn.at} (${ageOf(checkIn.at, now)})` : 'never'],
    [
      'offline',
      status.offline_since === undefined ? null : `since ${status.offline_since} (${ageOf(status.offline_since, now)})`,
    ],
    ['last outcome', outcome ? `${formatOutcome(outcome)} at ${outcome.at}` : 'none'],
    ['lock', lock && (lock.held ? `held by pid ${lock.pid ?? 'unknown'} since ${lock.since ?? 'unknown'}` : 'free')],
    ['reports', status.pending_reports === 0 ? null : `${status.pending_reports} wait for delivery`],
    ['trust', status.trust === undefined ? null : formatTrust(status.trust, fingerprints)],
    ['policy', status.policy === undefined ? null : policySummary(status.policy)],
    ['version', `deployd ${status.version}`],
  ];
}

function formatLost(lost: NonNullable<State['lost_volumes']>): string | null {
  const shown = lost.map((each) => `${describeLoss(each)} (${each.services.join(', ')}), found at ${each.at}`);
  return shown.length === 0 ? null : `${shown.join('; ')}; to accept it: sudo deployd accept-volumes`;
}

function formatTrust(trust: NonNullable<Status['trust']>, fingerprints: ReadonlyMap<string, string>): string {
  return trustsOf(trust)
    .map(([signed, settings]) => trustSummary(signed, settings, fingerprints))
    .join('; ');
}

function formatImages(images: NonNullable<Status['applied_images']>): string {
  return (
    images.map(({ service, signers }) => `${service} signed by ${signers.join(', ')}`).join('; ') ||
    'nobody signed them'
  );
}

function formatApplied({ applied_sha, applied_version }: Status, { applied_at }: State): string | null {
  if (applied_sha === null) return null;
  const name = applied_version === null ? applied_sha : `${applied_version} (${applied_sha})`;
  return applied_at === null ? name : `${name} since ${applied_at}`;
}

function formatExpiry(at: string | null, now: Date): string {
  if (at === null) return 'without a known end';
  return Date.parse(at) > now.getTime() ? `expires at ${at}` : `expired at ${at}`;
}

function ageOf(at: string, now: Date): string {
  return formatAge((now.getTime() - Date.parse(at)) / 1000);
}

function formatContainers(status: Status): string {
  const { health_unknown_reason: unknown, containers = [], unhealthy_services: troubles = [] } = status;
  if (unknown !== undefined) return `unknown: ${unknown}`;
  const count = containers.length === 1 ? '1 container' : `${containers.length} containers`;
  return troubles.length > 0 ? `${count}; unhealthy: ${describeProblems(troubles)}` : count;
}

/** The policy of a host in one line; a service that may have the engine's socket, or be privileged, is root on the host. */
export function policySummary({ permit, deny, images }: HostPolicy): string {
  const permits = permitKeys.flatMap((key) => {
    const entries = permit[key] ?? [];
    const root = key === 'engine_socket' || key === 'privileged' ? ' (root on the host)' : '';
    return entries.length === 0 ? [] : [`${key} ${entries.join(', ')}${root}`];
  });
  return [
    ...(permits.length === 0 ? [] : [`permits ${permits.join('; ')}`]),
    ...(deny.length === 0 ? [] : [`denies ${deny.join(', ')}`]),
    ...(images === 'digest' ? ['images by digest'] : []),
  ].join('; ');
}

/** A configured trust of a host; of images also for the repositories of one rule. */
type OwnTrust = TrustSettings & { repository?: string };

/** The configured trusts of a host, by the kind of signed object. */
export function trustsOf({ bundles, images }: HostTrust): [Signed, OwnTrust][] {
  const { rules = [], ...others } = images ?? {};
  const isForOthers = images !== null && (rules.length === 0 || signersIn(others).length > 0);
  return [
    ...(bundles === null ? [] : [['bundles', bundles] as [Signed, OwnTrust]]),
    ...(isForOthers ? [['images', others] as [Signed, OwnTrust]] : []),
    ...rules.map((rule): [Signed, OwnTrust] => ['images', rule]),
  ];
}

/** The trusted signers of a host, in one line: keys and the trust root by file and fingerprint. */
export function trustSummary(signed: Signed, trust: OwnTrust, fingerprints: ReadonlyMap<string, string>): string {
  const { threshold = 1, repository, root } = trust;
  const named = (name: string) => (fingerprints.has(name) ? `${name} (${fingerprints.get(name)})` : name);
  const signers = signersIn(trust).map(named);
  const what = repository === undefined ? signed : `${signed} of ${repository}`;
  const by = `${what} signed by ${signers.length === threshold ? 'all' : String(threshold)} of ${signers.join(', ')}`;
  return root === undefined ? by : `${by}, with the trust root ${named(root)}`;
}

function signersIn({ keys = [], identities = [] }: TrustSettings): string[] {
  return [...keys, ...identities.map(({ issuer, subject }) => `${subject} (${issuer})`)];
}
