import type { BackendState, FinishingStep } from '../../../machines/backend.ts';
import { type CheckInRequest, type DeferringFacts, recentForS, type ToldSwarm } from '../../api/checkIn.rules.ts';
import { type ExpectedSettings, settingsDifference } from '../bundles/hostPolicies.rules.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import type { AuditDependencies } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import { agentRole } from '../keys/secretstoreRoles.rules.ts';
import type { ReceivedReport as StoredReport } from '../store/agents.ts';
import type { BackendOrder, BackendRow, HostHistory, Labels, PendingStepRow, SortColumn } from '../store/database.ts';
import { outcomeOfTrouble } from '../webhooks/event.rules.ts';
import type { Backend, BackendDetails, ReceivedReport } from './backendSchemas.ts';

/** Dependencies of the views of backends and of the actions on them. */
export interface BackendDependencies extends AuditDependencies {
  readonly settings: TenancySettings;
}

/** The limits after which hosts count as silent, at the current time. */
export function silenceLimits({ clock, settings }: BackendDependencies): SilenceLimits {
  const { offline_after_s, laptop_offline_after_s } = settings;
  return { now: clock(), offline_after_s, laptop_offline_after_s };
}

/** A backend's row as the API returns it. */
export function backendView(
  row: BackendRow,
  { desired, limits, expected }: Pick<DetailFacts, 'desired' | 'limits' | 'expected'>,
): Backend {
  const { id, env, site, transport, state, generation, applied_sha } = row;
  return {
    id,
    env,
    host_name: row.host_name || null,
    site,
    laptop: row.laptop === 1,
    transport,
    labels: JSON.parse(row.labels) as Labels,
    state,
    state_since: toTime(row.state_since),
    created_at: toTime(row.created_at),
    last_seen_at: row.last_seen_at === null ? null : toTime(row.last_seen_at),
    generation,
    kits_revealed: row.kits,
    applied_sha,
    applied_since: row.applied_since === null ? null : toTime(row.applied_since),
    desired_sha: state === 'retired' ? null : desired.sha256,
    desired_since: state === 'retired' || desired.since === null ? null : toTime(desired.since),
    agent_version: row.agent_version || null,
    healthy: hostHealth(row, limits),
    trouble: row.trouble && outcomeOfTrouble(row.trouble),
    deferred_by: row.deferred_by,
    // Few backends have deferring facts, and check-ins may be long.
    ...(row.deferred_by !== null && deferringFactsOf(checkInOf(row))),
    differs: expected === null || state === 'retired' ? null : settingsDifference(checkInOf(row), expected),
    swarm: swarmOf(row),
    leftover: leftoverOf(row, limits.now),
    purge_volumes: row.purge_volumes === 1,
    finished: JSON.parse(row.finished) as FinishingStep[],
    locked_at: row.locked_at === null ? null : toTime(row.locked_at),
    cloned_at: row.cloned_at === null ? null : toTime(row.cloned_at),
  };
}

/** The desired bundle of a backend, and when it was promoted; null for none. */
export interface Promoted {
  sha256: string | null;
  since: number | null;
}

/** Details of a backend that are not in its row. */
interface DetailFacts {
  desired: Promoted;
  limits: SilenceLimits;
  /** The recorded settings of its environment; null if nothing was recorded. */
  expected: ExpectedSettings | null;
  pending: PendingStepRow[];
  /** When the secrets of its environment will be destroyed. */
  secretsDestroyAt: number | null;
  newest: StoredReport | null;
  /** The managers of its swarm in its environment, including itself. */
  managers: BackendRow[];
}

/** A backend's row as the API returns it in detail. */
export function backendDetails(row: BackendRow, { pending, newest, managers, ...facts }: DetailFacts): BackendDetails {
  const checkIn = checkInOf(row);
  const isWaiting = row.state === 'finishing' && facts.secretsDestroyAt !== null;
  return {
    ...backendView(row, facts),
    pending_steps: pending.map(({ step, tries, error }) => ({ step, tries, error })),
    secrets_destroy_at: isWaiting ? toTime(facts.secretsDestroyAt ?? 0) : null,
    last_report: newest && reportView(newest),
    host: checkIn?.host ?? null,
    ...settingsOf(checkIn),
    containers: checkIn?.containers ?? [],
    copies: copiesOf(row),
    managers: managers.filter(({ id }) => id !== row.id).map(managerView),
    ...deferringFactsOf(checkIn),
  };
}

/** The machines and boots that have used the token of a backend, the newest first. */
export function copiesOf({
  hosts,
  last_seen_at,
}: Pick<BackendRow, 'hosts' | 'last_seen_at'>): BackendDetails['copies'] {
  const { copies } = hosts === null ? { copies: [] } : (JSON.parse(hosts) as HostHistory);
  return copies
    .map(({ named: _, ...copy }) => ({
      ...copy,
      last_seen_at: copy.role === 'accepted' ? (last_seen_at ?? copy.last_seen_at) : copy.last_seen_at,
    }))
    .toSorted((one, other) => other.last_seen_at - one.last_seen_at)
    .map((copy) => ({
      ...copy,
      first_seen_at: toTime(copy.first_seen_at),
      last_seen_at: toTime(copy.last_seen_at),
    }));
}

/** The reported settings of a host, and its violations of them. */
function settingsOf(checkIn: CheckInRequest | null) {
  const { policy, trust, windows, violations }: Partial<CheckInRequest> = checkIn ?? {};
  return {
    ...(policy && { policy }),
    ...(trust && { trust }),
    ...(windows && { windows }),
    ...(violations && { violations }),
  };
}

/**
 * Why containers may still run on a retired host, or on one that cannot get its order to stop them. Null for a host that
 * was never seen, and for managers of a swarm, whose services may run on.
 */
export function leftoverOf(row: BackendRow, now: number): string | null {
  if (row.last_seen_at === null || row.swarm_id !== null || row.down_reported === 1) return null;
  if (row.state === 'finishing' || row.state === 'retired')
    return 'its host has not reported that its services are stopped: its containers may still run';
  const reason = row.state === 'retiring' ? deafness(row, now) : null;
  return reason && `${reason}, so it does not get the order to stop its services`;
}

/** Why a host cannot check in; null without a known reason. */
function deafness(row: BackendRow, now: number): string | null {
  if (row.locked_at !== null) return 'its host is locked';
  if (row.token_generation !== null && row.token_generation < row.oldest_generation)
    return 'its host does not use its newest install kit';
  if (now - (row.last_seen_at ?? now) > agentRole.tokenTtlS * 1000)
    return 'its host has been silent for longer than its token is valid';
  return null;
}

function managerView(row: BackendRow): BackendDetails['managers'][number] {
  const { id, host_name, site, state } = row;
  return { id, host_name: host_name || null, site, state, leader: swarmOf(row)?.leader ?? false };
}

/**
 * The swarm of a backend as of its newest check-in. If several managers claim to lead, only one is returned as the
 * leader.
 */
export function swarmOf(row: BackendRow): ToldSwarm | null {
  const told = row.swarm_id === null ? undefined : checkInOf(row)?.swarm;
  return told === undefined ? null : { ...told, leader: told.leader && row.follower === 0 };
}

/** The newest check-in of a backend; null before the first. */
function checkInOf({ check_in }: BackendRow): CheckInRequest | null {
  return check_in === null ? null : (JSON.parse(check_in) as CheckInRequest);
}

/** The reasons for deferred work as of the newest check-in. */
function deferringFactsOf(checkIn: CheckInRequest | null): DeferringFacts {
  const { hold, window_opens_at }: DeferringFacts = checkIn ?? {};
  return { ...(hold && { hold }), ...(window_opens_at !== undefined && { window_opens_at }) };
}

/** A received report as the API returns it. */
export function reportView({ receivedAt, report }: StoredReport): ReceivedReport {
  return { received_at: toTime(receivedAt), ...report };
}

/** The limits after which hosts count as silent. */
interface SilenceLimits {
  /** Milliseconds since 1970. */
  now: number;
  offline_after_s: number;
  laptop_offline_after_s: number;
}

/**
 * Whether a host is healthy now. Null if it has never checked in, is cloned or offline, or has missed the check-ins of three of
 * its intervals (one day for a laptop). A newest report of `unhealthy` outweighs the check-in of the same tick.
 */
function hostHealth(row: BackendRow, limits: SilenceLimits): boolean | null {
  if (row.healthy === null || row.cloned_at !== null || isSilent(row, limits)) return null;
  const trouble = row.trouble && outcomeOfTrouble(row.trouble);
  return row.healthy === 1 && trouble !== 'unhealthy';
}

/** True even before the background work marks the host as offline. */
function isSilent(row: BackendRow, { now, offline_after_s, laptop_offline_after_s }: SilenceLimits): boolean {
  const { state, last_seen_at } = row;
  if (state === 'offline' || last_seen_at === null) return true;
  const [laptop, silentForS] = [row.laptop === 1, (now - last_seen_at) / 1000];
  if (silentForS > (laptop ? laptop_offline_after_s : offline_after_s)) return true;
  const intervalS = intervalOf(row);
  return intervalS !== null && silentForS > recentForS({ intervalS, laptop });
}

/** Check-in interval in seconds; null for an older agent, which does not send it. */
function intervalOf({ check_in }: BackendRow): number | null {
  const checkIn = check_in === null ? null : (JSON.parse(check_in) as CheckInRequest);
  return checkIn?.agent.interval_s ?? null;
}

/** Splits a comma-separated list of states, whose form the schema has already checked. */
export function parseStates(text: string | undefined): BackendState[] | undefined {
  return text?.split(',') as BackendState[] | undefined;
}

/**
 * Parses an order, whose form the schema has already checked: a column, with `-` before it for descending order; by
 * default the id.
 */
export function parseOrder(text = 'id'): BackendOrder {
  return { column: text.replace(/^-/, '') as SortColumn, isDescending: text.startsWith('-') };
}

const FIRST_MS = 5000;
const LONGEST_MS = 10 * 60_000;

/**
 * Milliseconds until a step that has failed this many times is tried again: 5 s, doubled each time, at most 10 minutes.
 */
export function stepBackoff(tries: number): number {
  return Math.min(FIRST_MS * 2 ** Math.max(tries - 1, 0), LONGEST_MS);
}
