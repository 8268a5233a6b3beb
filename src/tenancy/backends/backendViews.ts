import type { BackendState, FinishingStep } from '../../../machines/backend.ts';
import { type CheckInRequest, type DeferringFacts, recentForS, type ToldSwarm } from '../../api/checkIn.rules.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import type { AuditDependencies } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import type { ReceivedReport as StoredReport } from '../store/agents.ts';
import type { BackendOrder, BackendRow, Labels, PendingStepRow, SortColumn } from '../store/database.ts';
import { outcomeOfTrouble } from '../webhooks/event.rules.ts';
import type { Backend, BackendDetails, ReceivedReport } from './backendSchemas.ts';

/** What the views of backends need, and the acts on them. */
export interface BackendDependencies extends AuditDependencies {
  readonly settings: TenancySettings;
}

/** When hosts count as silent now. */
export function silenceLimits({ clock, settings }: BackendDependencies): SilenceLimits {
  const { offline_after_s, laptop_offline_after_s } = settings;
  return { now: clock(), offline_after_s, laptop_offline_after_s };
}

/** A backend's row as the API returns it. */
export function backendView(
  row: BackendRow,
  { desiredSha, limits }: { desiredSha: string | null; limits: SilenceLimits },
): Backend {
  const { id, env, site, transport, state, generation, applied_sha } = row;
  return {
    id,
    env,
    site,
    laptop: row.laptop === 1,
    transport,
    labels: JSON.parse(row.labels) as Labels,
    state,
    state_since: toTime(row.state_since),
    created_at: toTime(row.created_at),
    last_seen_at: row.last_seen_at === null ? null : toTime(row.last_seen_at),
    generation,
    applied_sha,
    desired_sha: state === 'retired' ? null : desiredSha,
    agent_version: row.agent_version || null,
    healthy: hostHealth(row, limits),
    trouble: row.trouble && outcomeOfTrouble(row.trouble),
    deferred_by: row.deferred_by,
    // Few tell something, and check-ins may be long.
    ...(row.deferred_by !== null && deferringFactsOf(checkInOf(row))),
    swarm: swarmOf(row),
    purge_volumes: row.purge_volumes === 1,
    finished: JSON.parse(row.finished) as FinishingStep[],
  };
}

/** What is told of a backend beside its row. */
interface DetailFacts {
  desiredSha: string | null;
  limits: SilenceLimits;
  pending: PendingStepRow[];
  newest: StoredReport | null;
  /** Of its swarm and env, itself among them. */
  managers: BackendRow[];
}

/** A backend's row as the API returns it alone. */
export function backendDetails(row: BackendRow, { pending, newest, managers, ...facts }: DetailFacts): BackendDetails {
  const checkIn = checkInOf(row);
  return {
    ...backendView(row, facts),
    pending_steps: pending.map(({ step, tries, error }) => ({ step, tries, error })),
    last_report: newest && reportView(newest),
    host: checkIn?.host ?? null,
    containers: checkIn?.containers ?? [],
    managers: managers.filter(({ id }) => id !== row.id).map(managerView),
    ...deferringFactsOf(checkIn),
  };
}

function managerView(row: BackendRow): BackendDetails['managers'][number] {
  const { id, site, state } = row;
  return { id, site, state, leader: swarmOf(row)?.leader ?? false };
}

/** As its newest check-in told it; only one of several that say so leads. */
export function swarmOf(row: BackendRow): ToldSwarm | null {
  const told = row.swarm_id === null ? undefined : checkInOf(row)?.swarm;
  return told === undefined ? null : { ...told, leader: told.leader && row.follower === 0 };
}

/** The newest check-in of a backend; null before the first. */
function checkInOf({ check_in }: BackendRow): CheckInRequest | null {
  return check_in === null ? null : (JSON.parse(check_in) as CheckInRequest);
}

/** As its newest check-in told them. */
function deferringFactsOf(checkIn: CheckInRequest | null): DeferringFacts {
  const { hold, window_opens_at }: DeferringFacts = checkIn ?? {};
  return { ...(hold && { hold }), ...(window_opens_at !== undefined && { window_opens_at }) };
}

/** A received report as the API returns it. */
export function reportView({ receivedAt, report }: StoredReport): ReceivedReport {
  return { received_at: toTime(receivedAt), ...report };
}

/** When silence of a host is too long. */
interface SilenceLimits {
  /** Milliseconds since 1970. */
  now: number;
  offline_after_s: number;
  laptop_offline_after_s: number;
}

/**
 * Whether a host is healthy now: null if it has never checked in, is offline, or has missed the check-ins of three of its own
 * intervals (of a day for a laptop). A newest report `unhealthy` outweighs the check-in of the same tick.
 */
function hostHealth(row: BackendRow, limits: SilenceLimits): boolean | null {
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
