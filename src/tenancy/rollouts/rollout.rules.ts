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
import { bundleOf, oneLine } from '../webhooks/event.rules.ts';

/** Counts hosts by wave; what retires, and what has never been there, is left out. */
export function progressOf(groups: readonly HostGroup[], started: number): RolloutProgress {
  const present = groups.filter(({ state }) => state === 'active' || state === 'offline');
  const remaining = sum(present.filter(({ wave }) => wave === null));
  const waves = Array.from({ length: started }, (_, index) => waveOf(present.filter(({ wave }) => wave === index)));
  return { waves, remaining };
}

function waveOf(groups: readonly HostGroup[]): WaveProgress {
  const count = (status: ReturnType<typeof statusOf>) => sum(groups.filter((group) => statusOf(group) === status));
  return {
    hosts: sum(groups),
    waiting: count('waiting'),
    succeeded: count('succeeded'),
    failed: count('failed'),
    excused: count('excused'),
    offline: count('offline'),
    asleep: count('asleep'),
  };
}

/** What a host counts as: one that is silent is not waited for. */
function statusOf({ outcome, state, silent, laptop }: HostGroup): Exclude<keyof WaveProgress, 'hosts'> {
  if (outcome !== null && outcome !== 'waiting') return outcome;
  if (state === 'active' && silent === 0) return 'waiting';
  return laptop === 1 ? 'asleep' : 'offline';
}

function sum(groups: readonly HostGroup[]): number {
  return groups.reduce((total, { hosts }) => total + hosts, 0);
}

/** How many hosts count against the limit of failures. */
export function failuresOf({ waves }: RolloutProgress): number {
  return waves.reduce((total, { failed }) => total + failed, 0);
}

/**
 * True if a wave has succeeded: nobody is waited for, one host at least is through, and not more have failed or are missing
 * than may fail; a bundle that cuts its hosts off must not go on to others. Laptops may be missing.
 */
export function isSuccessful(progress: RolloutProgress, wave: WaveProgress, maxFailures: number): boolean {
  const { waiting, succeeded, excused, offline } = wave;
  return waiting === 0 && succeeded + excused > 0 && failuresOf(progress) + offline <= maxFailures;
}

/** What is counted of all rollouts together: how many are in each state, and their hosts by how far they are. */
export interface RolloutCounts {
  states: Partial<Record<RolloutState, number>>;
  hosts: Record<Exclude<keyof WaveProgress, 'hosts'>, number>;
}

/** Counts rollouts that are neither done nor aborted. */
export function countRollouts(rollouts: readonly { state: RolloutState; progress: RolloutProgress }[]): RolloutCounts {
  const states: RolloutCounts['states'] = {};
  const hosts: RolloutCounts['hosts'] = { waiting: 0, succeeded: 0, failed: 0, excused: 0, offline: 0, asleep: 0 };
  const outcomes = Object.keys(hosts) as (keyof typeof hosts)[];
  for (const { state, progress } of rollouts) {
    states[state] = (states[state] ?? 0) + 1;
    for (const wave of progress.waves) for (const outcome of outcomes) hosts[outcome] += wave[outcome];
  }
  return { states, hosts };
}

/** The waves of a rollout: after those that were asked for, one takes whatever hosts they have left. */
export function completeWaves(waves: readonly Wave[]): Wave[] {
  const last = waves.at(-1);
  return last !== undefined && takesEverything(last) ? [...waves] : [...waves, {}];
}

function takesEverything({ count, percent, labels = {} }: Wave): boolean {
  return count === undefined && (percent ?? 100) === 100 && Object.keys(labels).length === 0;
}

/** The ids that a wave takes, in the order of the candidates. */
export function selectWave(candidates: readonly Candidate[], wave: Wave): string[] {
  const matching = candidates.filter((candidate) => hasLabels(candidate, wave.labels ?? {}));
  const free = matching.filter(({ hasJoined }) => !hasJoined);
  return free.slice(0, sizeOf(wave, matching.length)).flatMap(({ ids }) => ids);
}

/** A swarm has the labels of each of its managers. */
function hasLabels({ labels }: Candidate, wanted: Labels): boolean {
  return labels.some((own) => Object.entries(wanted).every(([name, value]) => own[name] === value));
}

function sizeOf({ count, percent }: Wave, matching: number): number {
  if (count !== undefined) return count;
  return percent === undefined ? matching : Math.ceil((percent * matching) / 100);
}

/** A rollout as it is looked at; times in milliseconds since 1970. */
interface RolloutSituation {
  record: RolloutRecord;
  plan: RolloutPlan;
  progress: RolloutProgress;
  /** Since when it is in its state. */
  stateSince: number;
  now: number;
  /** When the service started. */
  startedAt: number;
  /** Milliseconds after which a silent host counts as offline. */
  silenceMs: number;
}

/** What happens next to a rollout by itself; null for nothing. */
export function nextEvent(situation: RolloutSituation): RolloutEvent | null {
  const { record, plan, progress, now } = situation;
  const isRunning = record.state !== 'halted' && record.state !== 'done' && record.state !== 'aborted';
  if (isRunning && failuresOf(progress) > plan.max_failures) return { type: 'HALT', by: 'failures' };
  if (record.state === 'pending') return isOpen(plan.windows, now) ? { type: 'START_WAVE' } : null;
  if (record.state === 'updating') return eventOfWave(situation);
  if (record.state === 'soaking') return now >= endOfSoak(situation) ? { type: 'END_SOAK' } : null;
  return null;
}

/** After an outage of the service its hosts come back first: meanwhile none could tell a failure. */
function endOfSoak({ plan, stateSince, startedAt, silenceMs }: RolloutSituation): number {
  const end = stateSince + plan.soak_s * 1000;
  return stateSince < startedAt ? Math.max(end, startedAt + silenceMs) : end;
}

function eventOfWave({ record, plan, progress }: RolloutSituation): RolloutEvent | null {
  const wave = progress.waves[record.started - 1];
  if (wave === undefined || wave.hosts === 0) return { type: 'SKIP_WAVE' };
  return isSuccessful(progress, wave, plan.max_failures) ? { type: 'COMPLETE_WAVE' } : null;
}

/** What a check-in tells of the bundle of a rollout. */
interface CheckInFacts {
  appliedSha: string | null;
  healthy: boolean;
}

/** The outcome of a host after a check-in. What is not healthy now may heal within the tick; else a report tells so. */
export function outcomeAfterCheckIn(
  outcome: HostOutcome,
  { appliedSha, healthy }: CheckInFacts,
  sha: string,
): HostOutcome {
  if (appliedSha === sha) return healthy ? 'succeeded' : outcome;
  return outcome === 'succeeded' ? 'waiting' : outcome;
}

/** What a report tells of the bundle of a rollout. */
interface ReportFacts {
  outcome: ReportOutcome;
  desiredSha: string | null;
  appliedSha: string | null;
}

const failures: readonly ReportOutcome[] = ['refused', 'failed', 'unhealthy'];

/** The outcome of a host after a report; one that tells of another bundle, or of none, changes nothing. */
export function outcomeAfterReport(outcome: HostOutcome, report: ReportFacts, sha: string): HostOutcome {
  if (report.outcome === 'applied' && report.appliedSha === sha) return 'succeeded';
  const hasFailed = failures.includes(report.outcome) && report.desiredSha === sha;
  return hasFailed && outcome !== 'excused' ? 'failed' : outcome;
}

/** What decides which bundle is desired of a host; digests. */
interface DesiredFacts {
  /** Desired in its env; null for nothing. */
  envSha: string | null;
  /** The bundle of the rollout of the env, which a wave has brought to the host; null for none. */
  joined: { sha256: string; state: RolloutState } | null;
  appliedSha: string | null;
}

/** Which bundle is desired of a host: while a rollout is halted, its bundle only where it runs already. */
export function desiredShaOf({ envSha, joined, appliedSha }: DesiredFacts): string | null {
  if (joined === null) return envSha;
  return joined.state !== 'halted' || joined.sha256 === appliedSha ? joined.sha256 : envSha;
}

/** What is wrong with a plan, beyond what its schema says; null for nothing. */
export function planFault({ waves, windows, gate, gate_webhook }: RolloutPlan): string | null {
  if ((gate === 'webhook') !== (gate_webhook !== undefined)) return 'gate_webhook belongs to the gate webhook';
  const ambiguous = waves.findIndex(({ count, percent }) => count !== undefined && percent !== undefined);
  if (ambiguous !== -1) return `wave ${ambiguous + 1} has both a count and a percentage`;
  const unknown = windows.find(({ time_zone }) => !isTimeZone(time_zone));
  return unknown === undefined ? null : `there is no time zone ${unknown.time_zone}`;
}

/** What a webhook has said at a gate. */
export interface GateVerdict {
  pass: boolean;
  reason: string | null;
}

/** The verdict in the body of an answer; null if there is none. */
export function verdictOf(body: string): GateVerdict | null {
  const answer = parseJson(body);
  if (typeof answer !== 'object' || answer === null || !('pass' in answer)) return null;
  const { pass } = answer;
  const reason = 'reason' in answer ? answer.reason : null;
  if (typeof pass !== 'boolean' || (reason !== null && typeof reason !== 'string')) return null;
  return { pass, reason: reason && oneLine(reason) };
}

/** What a verdict means for the rollout; without one it waits, but not for ever. */
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

/** The question that a rollout asks at its gate; the bundle is null if there is no such one. */
export function gateQuestion(row: RolloutRow, bundle: BundleRow | null): GateQuestion {
  const { id, env, started: wave, state_since } = row;
  const { waves } = JSON.parse(row.plan) as RolloutPlan;
  const failures = failuresOf(JSON.parse(row.progress) as RolloutProgress);
  return {
    type: 'rollout.gate',
    timestamp: new Date(state_since).toISOString(),
    data: { env, bundle: bundle && bundleOf(bundle), rollout: { id, wave, waves: waves.length, failures } },
  };
}

/** The id of the message: the same at each try at one gate, another one at the next or after a resume. */
export function gateMessageId({ id, started, state_since }: RolloutRow): string {
  return `msg_${id}_${started}_${state_since}`;
}

/** What operators are told of an event of a rollout; null for nothing, as of the halt that an abort begins with. */
export function eventOfRollout(event: RolloutEvent): EventType | null {
  if (event.type === 'HALT') return event.by === 'abort' ? null : 'rollout.halted';
  if (event.type === 'RESUME') return 'rollout.resumed';
  return event.type === 'ABORT' ? 'rollout.aborted' : null;
}
