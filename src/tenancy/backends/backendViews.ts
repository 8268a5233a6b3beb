import type { BackendState, FinishingStep } from '../../../machines/backend.ts';
import type { CheckInRequest, Deferral, DeferringFacts, ToldSwarm } from '../../protocol/checkIn.ts';
import type { Report } from '../../protocol/report.ts';
import type { Dependencies } from '../core/dependencies.ts';
import { toTime } from '../core/lists.rules.ts';
import type { ReceivedReport } from '../store/agents.ts';
import type { BackendRow, Labels, PendingStep, PendingStepRow } from '../store/database.ts';
import { outcomeOfTrouble } from '../webhooks/event.rules.ts';
import { hostHealth, type SilenceLimits } from './backend.rules.ts';

/** A backend as the API returns it; times are RFC 3339. */
export interface BackendView extends DeferringFacts {
  id: string;
  env: string;
  site: string;
  laptop: boolean;
  transport: BackendRow['transport'];
  labels: Labels;
  state: BackendState;
  state_since: string;
  created_at: string;
  last_seen_at: string | null;
  generation: number;
  applied_sha: string | null;
  /** What is desired of it: in its env, or by the wave of a rollout that it has joined. */
  desired_sha: string | null;
  agent_version: string | null;
  /** Null while that is not known: before its first check-in, and when its host is silent. */
  healthy: boolean | null;
  /** Outcome of its newest report, if that told of trouble. */
  trouble: string | null;
  /** What defers the work of its host, as its newest check-in told. */
  deferred_by: Deferral | null;
  /** The swarm that its host manages, with whether that leads. */
  swarm: ToldSwarm | null;
  purge_volumes: boolean;
  finished: FinishingStep[];
}

/** A report with the time at which it was received. */
export interface ReportView extends Report {
  received_at: string;
}

/** A backend with what is left to do for it and its newest report. */
export interface BackendDetails extends BackendView {
  /** Steps that are tried again until they succeed, with the reason of the last failure. */
  pending_steps: { step: PendingStep; tries: number; error: string | null }[];
  last_report: ReportView | null;
  /** As its newest check-in told; null before the first. */
  host: CheckInRequest['host'] | null;
  containers: CheckInRequest['containers'];
  /** The other managers of its swarm, of the same env. */
  managers: ManagerView[];
}

/** When hosts count as silent now. */
export function silenceLimits({ clock, settings }: Pick<Dependencies, 'clock' | 'settings'>): SilenceLimits {
  const { offline_after_s, laptop_offline_after_s } = settings;
  return { now: clock(), offline_after_s, laptop_offline_after_s };
}

/** A manager of a swarm, as the API tells another one of it. */
export interface ManagerView {
  id: string;
  site: string;
  state: BackendState;
  leader: boolean;
}

/** A backend's row as the API returns it. */
export function backendView(
  row: BackendRow,
  { desiredSha, limits }: { desiredSha: string | null; limits: SilenceLimits },
): BackendView {
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
  newest: ReceivedReport | null;
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

function managerView(row: BackendRow): ManagerView {
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
export function reportView({ receivedAt, report }: ReceivedReport): ReportView {
  return { received_at: toTime(receivedAt), ...report };
}
