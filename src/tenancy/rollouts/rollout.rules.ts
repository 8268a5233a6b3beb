import type { ReportOutcome } from '../../../machines/endings.ts';
import type { RolloutEvent, RolloutRecord, RolloutState } from '../../../machines/rollout.ts';
import { isOpen, isTimeZone } from '../../api/timeWindow.rules.ts';
import type { EventType, GateQuestion } from '../../api/webhooks.rules.ts';
import type {
  BundleRow,
  Candidate,
  HostGroup,
  HostOutcome,
  Labels,
  RolloutPlan,
  RolloutProgress,
  RolloutRow,
  Wave,
  WaveProgress,
} from '../store/database.ts';
import { bundleOf, failuresOf, oneLine } from '../webhooks/event.rules.ts';

/** The status of a host in a rollout. */
export type HostStatus = Exclude<keyof WaveProgress, 'hosts' | 'verified'>;

const noHosts: WaveProgress = {
  ...{ hosts: 0, waiting: 0, succeeded: 0, failed: 0, excused: 0 },
  ...{ offline: 0, absent: 0, asleep: 0, verified: 0 },
};

/** Counts the hosts of all waves; omits hosts that are being retired or were never there. */
export function progressOf(
  groups: readonly HostGroup[],
  { started, waves: total }: { started: number; waves: number },
): RolloutProgress {
  const present = groups.filter(({ state }) => state === 'active' || state === 'offline');
  const waves = Array.from({ length: total }, (_, index) => {
    const members = present.filter(({ wave }) => wave === index);
    return index < started ? waveOf(members) : { ...noHosts, hosts: sum(members) };
  });
  const newcomers = sum(present.filter(({ wave }) => wave === null));
  return { waves, remaining: newcomers + sum(present.filter(({ wave }) => (wave ?? 0) >= started)), newcomers };
}

/** Number of hosts of a wave that are not excused, so that one of them may verify the bundle. */
export function candidatesOf(groups: readonly HostGroup[], wave: number | null): number {
  const present = groups.filter(({ state }) => state === 'active' || state === 'offline');
  return sum(present.filter((group) => group.wave === wave && group.outcome !== 'excused'));
}

function waveOf(groups: readonly HostGroup[]): WaveProgress {
  const having = (status: HostStatus) => groups.filter((group) => statusOf(group) === status);
  return {
    hosts: sum(groups),
    waiting: sum(having('waiting')),
    succeeded: sum(having('succeeded')),
    failed: sum(having('failed')),
    excused: sum(having('excused')),
    offline: sum(having('offline')),
    absent: sum(having('absent')),
    asleep: sum(having('asleep')),
    verified: sum(having('succeeded').filter(({ fresh }) => fresh === 1)),
  };
}

/**
 * The present status of a host in a started wave. An earlier success does not count if the host is silent or unhealthy
 * now.
 */
export function statusOf(member: Omit<HostGroup, 'hosts' | 'wave' | 'fresh'>): HostStatus {
  const { outcome, state, silent, laptop, healthy, reached } = member;
  if (outcome === 'failed' || outcome === 'excused') return outcome;
  if (state !== 'active' || silent === 1) {
    if (laptop === 1) return 'asleep';
    return reached === 1 || outcome === 'succeeded' ? 'offline' : 'absent';
  }
  if (outcome !== 'succeeded') return 'waiting';
  return healthy === 1 ? 'succeeded' : 'failed';
}

function sum(groups: readonly HostGroup[]): number {
  return groups.reduce((total, { hosts }) => total + hosts, 0);
}

/**
 * True if a wave may pass: at least one host is verified at present, no host is awaited, and the failed and offline
 * hosts are within the limit. Absent hosts are skipped only at the deadline.
 */
export function isSuccessful(
  progress: RolloutProgress,
  { started, maxFailures, isOverdue }: { started: number; maxFailures: number; isOverdue: boolean },
): boolean {
  const { waiting, verified, absent } = progress.waves[started - 1] ?? noHosts;
  const isComplete = waiting === 0 && (absent === 0 || isOverdue);
  return isComplete && verified > 0 && failuresOf(progress, started) <= maxFailures;
}

/** Totals of all rollouts: rollouts by state, and their hosts by outcome. */
export interface RolloutCounts {
  states: Partial<Record<RolloutState, number>>;
  hosts: Record<HostStatus, number>;
}

/** Counts rollouts that are neither done nor aborted; their progress is complete. */
export function countRollouts(rollouts: readonly { state: RolloutState; progress: RolloutProgress }[]): RolloutCounts {
  const states: RolloutCounts['states'] = {};
  const hosts: RolloutCounts['hosts'] = {
    ...{ waiting: 0, succeeded: 0, failed: 0, excused: 0 },
    ...{ offline: 0, absent: 0, asleep: 0 },
  };
  const outcomes = Object.keys(hosts) as (keyof typeof hosts)[];
  for (const { state, progress } of rollouts) {
    states[state] = (states[state] ?? 0) + 1;
    for (const wave of progress.waves) for (const outcome of outcomes) hosts[outcome] += wave[outcome];
  }
  return { states, hosts };
}

/** The waves of a rollout: the requested ones, and a last one with all remaining hosts. */
export function completeWaves(waves: readonly Wave[]): Wave[] {
  const last = waves.at(-1);
  return last !== undefined && takesEverything(last) ? [...waves] : [...waves, {}];
}

function takesEverything({ count, percent, labels = {} }: Wave): boolean {
  return count === undefined && (percent ?? 100) === 100 && Object.keys(labels).length === 0;
}

/** The ids that each wave takes, in the order of the candidates. */
export function drawWaves(candidates: readonly Candidate[], waves: readonly Wave[]): string[][] {
  const taken = new Set(candidates.filter(({ hasJoined }) => hasJoined));
  return waves.map((wave) => {
    const matching = candidates.filter((candidate) => hasLabels(candidate, wave.labels ?? {}));
    const free = matching.filter((candidate) => !taken.has(candidate));
    const members = free.slice(0, sizeOf(wave, matching.length));
    for (const member of members) taken.add(member);
    return members.flatMap(({ ids }) => ids);
  });
}

/** Why a plan cannot be drawn: it names a wave that selects no host; null if it can be. `started` waves come before. */
export function drawFault(drawn: readonly string[][], waves: readonly Wave[], started = 0): string | null {
  const empty = waves.findIndex((_, index) => (drawn[index] ?? []).length === 0);
  if (empty === -1) return null;
  const labels = Object.entries(waves[empty]?.labels ?? {}).map(([name, value]) => `${name}=${value}`);
  const of = labels.length === 0 ? '' : ` with ${labels.join(', ')}`;
  return `wave ${started + empty + 1} selects no host: no host${of} is left; correct its labels, or leave the wave out`;
}

/** A swarm has the labels of each of its managers. */
function hasLabels({ labels }: Candidate, wanted: Labels): boolean {
  return labels.some((own) => Object.entries(wanted).every(([name, value]) => own[name] === value));
}

function sizeOf({ count, percent }: Wave, matching: number): number {
  if (count !== undefined) return count;
  return percent === undefined ? matching : Math.ceil((percent * matching) / 100);
}

/** The state of a rollout that decides its next step; times in milliseconds since 1970. */
interface RolloutSituation {
  record: RolloutRecord;
  plan: RolloutPlan;
  progress: RolloutProgress;
  /** When it entered its state. */
  stateSince: number;
  now: number;
  /** When the service started. */
  startedAt: number;
  /** Milliseconds after which a silent host counts as offline. */
  silenceMs: number;
}

/** The next automatic step of a rollout; null if there is none. */
export function nextEvent(situation: RolloutSituation): RolloutEvent | null {
  const { record, plan, progress, now } = situation;
  const isRunning = record.state !== 'halted' && record.state !== 'done' && record.state !== 'aborted';
  if (isRunning && failuresOf(progress, record.started) > plan.max_failures) return { type: 'HALT', by: 'failures' };
  if (record.state === 'pending') return isOpen(plan.windows, now) ? { type: 'START_WAVE' } : null;
  if (record.state === 'updating') return eventOfWave(situation);
  return record.state === 'soaking' ? eventOfSoak(situation) : null;
}

/** Seconds in which a wave must be verified by default: some check-ins, a download, jobs and the wait for health. */
export function defaultDeadlineS(silenceMs: number): number {
  return silenceMs / 1000 + 1800;
}

/**
 * A time since the rollout entered its state. After an outage of the service, hosts get time to check in again, because
 * none could report anything meanwhile.
 */
function endOf({ stateSince, startedAt, silenceMs }: RolloutSituation, seconds: number): number {
  const end = stateSince + seconds * 1000;
  return stateSince < startedAt ? Math.max(end, startedAt + silenceMs) : end;
}

function eventOfWave(situation: RolloutSituation): RolloutEvent | null {
  const { record, plan, progress, silenceMs, now } = situation;
  const isOverdue = now >= endOf(situation, plan.deadline_s ?? defaultDeadlineS(silenceMs));
  const judged = { started: record.started, maxFailures: plan.max_failures, isOverdue };
  if (isSuccessful(progress, judged)) return { type: 'COMPLETE_WAVE' };
  return isOverdue ? { type: 'HALT', by: 'deadline' } : null;
}

/** True if a wave has waited for hosts for half of its deadline, so that operators are notified. */
export function waitsLong(situation: RolloutSituation): boolean {
  const { record, plan, progress, silenceMs, now } = situation;
  const { waiting, absent, succeeded, verified } = progress.waves[record.started - 1] ?? noHosts;
  const half = (plan.deadline_s ?? defaultDeadlineS(silenceMs)) / 2;
  if (record.state === 'updating') return waiting + absent > 0 && now >= endOf(situation, half);
  return record.state === 'soaking' && verified < succeeded && now >= endOf(situation, plan.soak_s + half);
}

/** After its soak, each succeeded host of the wave must have been seen again. */
function eventOfSoak(situation: RolloutSituation): RolloutEvent | null {
  const { record, plan, progress, silenceMs, now } = situation;
  if (now < endOf(situation, plan.soak_s)) return null;
  const { waiting, succeeded, verified } = progress.waves[record.started - 1] ?? noHosts;
  if (waiting === 0 && verified > 0 && verified === succeeded) return { type: 'END_SOAK' };
  const deadline = endOf(situation, plan.soak_s + (plan.deadline_s ?? defaultDeadlineS(silenceMs)));
  return now >= deadline ? { type: 'HALT', by: 'deadline' } : null;
}

/** Since when a host must have been seen to count as verified. */
export function verifiedSince(
  { state, stateSince }: { state: RolloutState; stateSince: number },
  { soak_s }: RolloutPlan,
): number {
  if (state === 'updating') return stateSince;
  // Without a soak, the success of the wave is recent enough.
  return state === 'soaking' && soak_s > 0 ? stateSince + soak_s * 1000 : 0;
}

/** Facts of a check-in about the bundle of a rollout. */
interface CheckInFacts {
  appliedSha: string | null;
  healthy: boolean;
}

/**
 * The outcome of a host after a check-in. An unhealthy host may still recover within the tick; if not, its report
 * decides.
 */
export function outcomeAfterCheckIn(
  outcome: HostOutcome,
  { appliedSha, healthy }: CheckInFacts,
  sha: string,
): HostOutcome {
  if (appliedSha === sha) return healthy ? 'succeeded' : outcome;
  return outcome === 'succeeded' ? 'waiting' : outcome;
}

/** Facts of a report about the bundle of a rollout. */
interface ReportFacts {
  outcome: ReportOutcome;
  desiredSha: string | null;
  appliedSha: string | null;
}

const failures: readonly ReportOutcome[] = ['refused', 'failed', 'unhealthy'];

/** The outcome of a host after a report; a report on another bundle, or on none, changes nothing. */
export function outcomeAfterReport(outcome: HostOutcome, report: ReportFacts, sha: string): HostOutcome {
  if (report.outcome === 'applied' && report.appliedSha === sha) return 'succeeded';
  const hasFailed = failures.includes(report.outcome) && report.desiredSha === sha;
  return hasFailed && outcome !== 'excused' ? 'failed' : outcome;
}

/** Facts that decide the desired bundle of a host, as digests. */
interface DesiredFacts {
  /** The desired bundle of the environment; null for none. */
  envSha: string | null;
  /** The bundle of the environment's rollout, if the wave of the host has started; otherwise null. */
  joined: { sha256: string; state: RolloutState } | null;
  appliedSha: string | null;
}

/** The desired bundle of a host. While a rollout is halted, its bundle is desired only on hosts that already run it. */
export function desiredShaOf({ envSha, joined, appliedSha }: DesiredFacts): string | null {
  if (joined === null) return envSha;
  return joined.state !== 'halted' || joined.sha256 === appliedSha ? joined.sha256 : envSha;
}

/** The fault of a plan that its schema does not find; null if there is none. */
export function planFault({ waves, windows, gate, gate_webhook }: RolloutPlan): string | null {
  if ((gate === 'webhook') !== (gate_webhook !== undefined)) return 'gate_webhook belongs to the gate webhook';
  const ambiguous = waves.findIndex(({ count, percent }) => count !== undefined && percent !== undefined);
  if (ambiguous !== -1) return `wave ${ambiguous + 1} has both a count and a percentage`;
  const unknown = windows.find(({ time_zone }) => !isTimeZone(time_zone));
  return unknown === undefined ? null : `there is no time zone ${unknown.time_zone}`;
}

/** The verdict of a gate's webhook. */
export interface GateVerdict {
  pass: boolean;
  reason: string | null;
}

/** Parses the verdict in the body of an answer; null if there is none. */
export function verdictOf(body: string): GateVerdict | null {
  const answer = parseJson(body);
  if (typeof answer !== 'object' || answer === null || !('pass' in answer)) return null;
  const { pass } = answer;
  const reason = 'reason' in answer ? answer.reason : null;
  if (typeof pass !== 'boolean' || (reason !== null && typeof reason !== 'string')) return null;
  return { pass, reason: reason && oneLine(reason) };
}

/** The effect of a verdict on the rollout; without one the rollout waits, but not forever. */
export function eventOfGate(verdict: GateVerdict | null, isOverdue: boolean): RolloutEvent | null {
  if (verdict?.pass === true) return { type: 'PASS_GATE' };
  return verdict !== null || isOverdue ? { type: 'HALT', by: 'gate' } : null;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** The question of a rollout at its gate; the bundle is null if it does not exist. */
export function gateQuestion(row: RolloutRow, bundle: BundleRow | null): GateQuestion {
  const { id, env, started: wave, state_since } = row;
  const { waves } = JSON.parse(row.plan) as RolloutPlan;
  const failures = failuresOf(JSON.parse(row.progress) as RolloutProgress, wave);
  return {
    type: 'rollout.gate',
    timestamp: new Date(state_since).toISOString(),
    data: { env, bundle: bundle && bundleOf(bundle), rollout: { id, wave, waves: waves.length, failures } },
  };
}

/** The id of the message: the same for each attempt at one gate, another one at the next gate or after a resume. */
export function gateMessageId({ id, started, state_since }: RolloutRow): string {
  return `msg_${id}_${started}_${state_since}`;
}

/**
 * The notification for an event of a rollout that has led to a state. Returns null for the halt that starts an abort,
 * and for a gate that a webhook decides.
 */
export function eventOfRollout(
  event: RolloutEvent,
  { state, gate }: { state: RolloutState; gate: RolloutPlan['gate'] },
): EventType | null {
  if (event.type === 'HALT') return event.by === 'abort' ? null : 'rollout.halted';
  if (event.type === 'RESUME') return 'rollout.resumed';
  if (event.type === 'ABORT') return 'rollout.aborted';
  if (state === 'done') return 'rollout.done';
  if (state === 'gated') return gate === 'manual' ? 'rollout.approval_needed' : null;
  return state === 'pending' ? 'rollout.wave_passed' : null;
}
