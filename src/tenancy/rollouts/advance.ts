import type { RolloutEvent } from '../../../machines/rollout.ts';
import type { ArchiveDependencies } from '../bundles/archives.ts';
import { conflict, notFound } from '../core/apiError.rules.ts';
import { auditEntry, byService } from '../core/audit.ts';
import type { LogLine } from '../core/log.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import { findBundle } from '../store/bundles.ts';
import type { HostName, RolloutMember, RolloutPlan, RolloutProgress, RolloutRow } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import {
  changeRollout,
  claimGate,
  countHosts,
  excuseFailures,
  findDueGates,
  findRollout,
  isOver,
  joinWave,
  listActiveRollouts,
  listCandidates,
  listFailed,
  listMembers,
  listRollouts,
  type MemberQuery,
  recordOf,
  refreshProgress,
  setPlan,
  setProgress,
  settleGate,
  setWaitingTold,
} from '../store/rollouts.ts';
import { findWebhook } from '../store/webhooks.ts';
import { announce, type SendDependencies, sendQuestion } from '../webhooks/deliver.ts';
import { type Occurrence, retryDelayMs, rolloutOf } from '../webhooks/event.rules.ts';
import {
  drawWaves,
  eventOfGate,
  eventOfRollout,
  gateMessageId,
  gateQuestion,
  type GateVerdict,
  nextEvent,
  progressOf,
  statusOf,
  verdictOf,
  verifiedSince,
  waitsLong,
} from './rollout.rules.ts';

/** Dependencies of rollouts; an abort stores the archive of the previous bundle again. */
export interface RolloutDependencies extends ArchiveDependencies {
  /** When this instance started, by the clock. */
  readonly startedAt: number;
}

/** Dependencies for calling a gate's webhook. */
interface GateDependencies extends RolloutDependencies, SendDependencies {}

/** Names of the service's own actions in the audit log. */
const acts: Record<RolloutEvent['type'], string> = {
  START_WAVE: 'rollout.startWave',
  COMPLETE_WAVE: 'rollout.completeWave',
  END_SOAK: 'rollout.endSoak',
  PASS_GATE: 'rollout.pass',
  HALT: 'rollout.halt',
  RESUME: 'rollout.resume',
  ABORT: 'rollout.abort',
};

/** Advances every rollout as far as possible, independently of the others; each step is made by one instance. */
export async function advanceRollouts(deps: RolloutDependencies, signal: AbortSignal): Promise<void> {
  for (const { id, env } of await listActiveRollouts(deps.store, null)) {
    try {
      while (!signal.aborted && (await advance(deps, id)));
    } catch (error) {
      deps.log('error', `a rollout could not continue, and is tried again: ${String(error)}`, { rollout: id, env });
    }
  }
}

/** Makes the next step of a rollout; returns false if there is none now. */
async function advance(deps: RolloutDependencies, id: string): Promise<boolean> {
  const row = await findRollout(deps.store, id);
  if (row === null || isOver(row)) return false;
  if ((JSON.parse(row.progress) as RolloutProgress).newcomers !== 0) await placeNewcomers(deps, row);
  // Counting takes long in a large environment, so lock it only if a step is due.
  const { event, progress, isLong } = await lookAt(deps, deps.store, row);
  if (event === null) {
    if (JSON.stringify(progress) !== row.progress) await refreshProgress(deps.store, row, progress);
    if (isLong && row.waiting_told !== row.state_since) await announceWaiting(deps, row);
    return false;
  }
  return deps.store.transaction().execute(async (work) => {
    await lockEnv(work, row.env);
    const locked = await findRollout(work, id);
    if (locked === null) return false;
    const { event: due } = await lookAt(deps, work, locked);
    if (due === null) return false;
    const caused = { row: locked, event: due, caller: byService(acts[due.type]) };
    return (await applyRolloutEvent(deps, work, caused)) !== null;
  });
}

async function lookAt(
  deps: RolloutDependencies,
  store: Store,
  row: RolloutRow,
): Promise<{ event: RolloutEvent | null; progress: RolloutProgress; isLong: boolean }> {
  const progress = await countProgress(deps, store, row);
  const plan = JSON.parse(row.plan) as RolloutPlan;
  const times = { stateSince: row.state_since, now: deps.clock(), startedAt: deps.startedAt };
  const silenceMs = deps.settings.offline_after_s * 1000;
  const situation = { record: recordOf(row), plan, progress, ...times, silenceMs };
  return { event: nextEvent(situation), progress, isLong: waitsLong(situation) };
}

/** Announces once that a wave still waits for hosts. */
async function announceWaiting(deps: RolloutDependencies, { id, env, state_since }: RolloutRow): Promise<void> {
  await deps.store.transaction().execute(async (work) => {
    await lockEnv(work, env);
    const row = await findRollout(work, id);
    if (row?.state_since !== state_since || row.waiting_told === state_since) return;
    await setWaitingTold(work, row);
    await announceChange(work, row, { type: 'rollout.waiting', now: deps.clock() });
  });
}

/** Number of gates whose webhooks are called concurrently. */
const GATES_AT_ONCE = 50;
/**
 * Milliseconds for which an instance claims a gate, longer than an endpoint may take. If the instance dies, another one
 * takes over.
 */
const CLAIM_MS = 120_000;

/** Calls the webhooks of all due gates concurrently, so that no gate delays another; one instance calls each. */
export async function askGates(deps: GateDependencies, signal: AbortSignal): Promise<void> {
  const longestMs = Math.max(CLAIM_MS, deps.settings.webhooks.longest_retry_s * 1000);
  const due = await findDueGates(deps.store, { now: deps.clock(), longestMs }, GATES_AT_ONCE);
  await Promise.all(due.map((row) => ask(deps, row, signal)));
}

async function ask(deps: GateDependencies, row: RolloutRow, signal: AbortSignal): Promise<void> {
  const claimed = await claimGate(deps.store, row, deps.clock() + CLAIM_MS);
  if (claimed === null) return;
  try {
    await askGate(deps, claimed, signal);
  } catch (error) {
    const { id, env } = row;
    deps.log('error', `a gate could not be asked, and is asked again: ${String(error)}`, { rollout: id, env });
  }
}

/** Result of calling a gate's webhook: a verdict, or the reason for its absence. */
interface Reply {
  verdict: GateVerdict | null;
  reason: string | null;
  retryAfterS: number;
}

/**
 * Calls the webhook of a claimed gate once. A verdict passes the gate or halts the rollout. Otherwise the call is
 * repeated with growing pauses, and the rollout is halted after `webhooks.give_up_after_s`.
 */
async function askGate(deps: GateDependencies, claimed: RolloutRow, signal: AbortSignal): Promise<void> {
  const reply = await replyOf(deps, claimed, signal);
  const { verdict, reason } = reply;
  const now = deps.clock();
  if (verdict === null && signal.aborted) {
    // The service is stopping, so this is not a failure of the endpoint.
    await settleGate(deps.store, claimed, { dueAt: now, reason: claimed.gate_reason });
    return;
  }
  const { webhooks } = deps.settings;
  const bounds = { random: Math.random(), retryAfterS: reply.retryAfterS };
  const dueAt = now + Math.round(retryDelayMs(claimed.gate_tries, webhooks, bounds));
  const event = eventOfGate(verdict, dueAt > claimed.state_since + webhooks.give_up_after_s * 1000);
  if (event === null) logFailure(deps, claimed, reason);
  await deps.store.transaction().execute(async (work) => {
    await lockEnv(work, claimed.env);
    // An operator may have passed the gate or halted the rollout meanwhile.
    if (!(await settleGate(work, claimed, { dueAt, reason })) || event === null) return;
    const row = await findRollout(work, claimed.id);
    const act = event.type === 'HALT' ? 'rollout.halt' : 'rollout.pass';
    if (row !== null) await applyRolloutEvent(deps, work, { row, event, caller: byService(act) });
  });
}

async function replyOf(deps: GateDependencies, row: RolloutRow, signal: AbortSignal): Promise<Reply> {
  const { gate_webhook: webhookId = '' } = JSON.parse(row.plan) as RolloutPlan;
  const webhook = await findWebhook(deps.store, webhookId);
  if (webhook === null) {
    const reason = 'its webhook is not there any more';
    return { verdict: { pass: false, reason }, reason, retryAfterS: 0 };
  }
  const question = gateQuestion(row, await findBundle(deps.store, row.sha256));
  const { error, retryAfterS, body } = await sendQuestion(deps, webhook, { id: gateMessageId(row), question, signal });
  const verdict = error === null ? verdictOf(body) : null;
  if (verdict !== null) return { verdict, reason: verdict.reason, retryAfterS };
  return { verdict, reason: error ?? 'the endpoint answered without a verdict', retryAfterS };
}

function logFailure({ log }: { log: LogLine }, { id, env, gate_reason }: RolloutRow, reason: string | null): void {
  if (reason !== gate_reason) log('warn', `a gate has no answer: ${reason}`, { rollout: id, env });
}

/** Largest number of failed hosts, and of awaited ones, that are named. */
const NAMED_HOSTS = 10;

/** An event of a rollout, and its cause. */
export interface CausedEvent {
  event: RolloutEvent;
  caller: AuditCaller;
}

/**
 * Applies an event to a rollout whose environment is locked, with its effects on hosts, and adds it to the audit log;
 * returns null if the state of the rollout does not allow it.
 */
export async function applyRolloutEvent(
  deps: RolloutDependencies,
  work: Store,
  { row, event, caller }: CausedEvent & { row: RolloutRow },
): Promise<RolloutRow | null> {
  const changed = await changeRollout(work, row, { event, now: deps.clock() });
  if (changed === null) return null;
  if (event.type === 'RESUME') await excuseFailures(work, row, timesOf(deps, row).seenBefore);
  const target = changed.started === 0 ? row.id : `${row.id} wave ${changed.started}`;
  const change = [row.state, changed.state] as const;
  await addAuditEntry(work, auditEntry(deps, caller, { target, env: row.env, change }));
  const progress = await countProgress(deps, work, changed);
  await setProgress(work, row.id, progress);
  const counted = { ...changed, progress: JSON.stringify(progress) };
  const { gate } = JSON.parse(row.plan) as RolloutPlan;
  const type = eventOfRollout(event, { state: changed.state, gate });
  if (type !== null) await announceChange(work, counted, { type, now: deps.clock() });
  return counted;
}

/** Announces a change of a rollout whose row has the newest progress. */
export async function announceChange(
  work: Store,
  row: RolloutRow,
  change: Pick<Occurrence, 'type' | 'now'>,
): Promise<void> {
  const bundle = await findBundle(work, row.sha256);
  await announce(work, { ...change, env: row.env, bundle, rollout: rolloutOf(row) });
}

/**
 * Assigns hosts that were added since the start to the last wave. A rollout of an earlier version has not assigned hosts
 * to its later waves yet; waves that find no host are removed then.
 */
async function placeNewcomers({ store }: RolloutDependencies, { id, env }: RolloutRow): Promise<void> {
  await store.transaction().execute(async (work) => {
    await lockEnv(work, env);
    const row = await findRollout(work, id);
    if (row === null || isOver(row)) return;
    const plan = JSON.parse(row.plan) as RolloutPlan;
    const candidates = await listCandidates(work, { env, rolloutId: id });
    const from = plan.drawn === true ? plan.waves.length - 1 : row.started;
    const left = plan.drawn === true ? [{}] : plan.waves.slice(from);
    const drawn = drawWaves(candidates, left);
    const kept = left.filter((_, index) => plan.drawn === true || (drawn[index]?.length ?? 0) > 0);
    if (plan.drawn !== true) {
      const waves = [...plan.waves.slice(0, from), ...kept];
      await setPlan(work, id, { ...plan, waves: waves.length === 0 ? [{}] : waves, drawn: true });
    }
    for (const [index, ids] of drawn.filter((ids) => ids.length > 0).entries())
      await joinWave(work, { rolloutId: id, wave: from + index }, ids);
  });
}

/** Assigns hosts to the waves of a rollout, from a number on. */
export async function joinWaves(work: Store, rolloutId: string, drawn: readonly string[][], from = 0): Promise<void> {
  for (const [index, ids] of drawn.entries()) await joinWave(work, { rolloutId, wave: from + index }, ids);
}

/** The times that decide the status of hosts. After a start of the service, hosts get time to check in again first. */
export function timesOf({ settings, clock, startedAt }: RolloutDependencies, row: RolloutRow): MemberQuery {
  const { env, id: rolloutId, sha256, state, state_since: stateSince } = row;
  const silentSince = clock() - settings.offline_after_s * 1000;
  return {
    env,
    rolloutId,
    sha256,
    seenBefore: silentSince < startedAt ? 0 : silentSince,
    reachedSince: row.wave_started_at ?? 0,
    freshSince: verifiedSince({ state, stateSince }, JSON.parse(row.plan) as RolloutPlan),
  };
}

/** Counts the progress of a rollout from its hosts' reports. */
export async function countProgress(
  deps: RolloutDependencies,
  store: Store,
  row: RolloutRow,
): Promise<RolloutProgress> {
  const { started } = row;
  const { waves } = JSON.parse(row.plan) as RolloutPlan;
  const query = timesOf(deps, row);
  const progress = progressOf(await countHosts(store, query), { started, waves: waves.length });
  const { waiting = 0, absent = 0 } = progress.waves[started - 1] ?? {};
  const hasFailed = progress.waves.some(({ failed }) => failed > 0);
  const awaited =
    waiting + absent === 0
      ? []
      : await listMembers(store, { ...query, wave: started - 1, outcomes: ['waiting'], limit: NAMED_HOSTS });
  return {
    ...progress,
    ...(hasFailed && { failed_hosts: await listFailed(store, { ...query, limit: NAMED_HOSTS }) }),
    ...(awaited.length > 0 && { awaited_hosts: awaited.filter(isAwaited).map(nameOf) }),
  };
}

function nameOf({ id, site, host_name = '' }: RolloutMember): HostName {
  return { id, site, host_name };
}

function isAwaited(member: RolloutMember): boolean {
  return ['waiting', 'absent'].includes(statusOf(member));
}

/** Locks an environment with a rollout; throws 404 if there is none, and 409 if the newest one is over. */
export async function lockRollout(work: Store, env: string): Promise<RolloutRow> {
  const row = await lockEnv(work, env);
  if (row === null) throw notFound('env');
  const current = row.rollout_id === null ? null : await findRollout(work, row.rollout_id);
  if (current !== null) return current;
  const [newest] = await listRollouts(work, env, 1);
  throw newest === undefined ? notFound('rollout') : wrongState(newest);
}

/** The 409 error for an action that the state of a rollout does not allow. */
export function wrongState({ env, state, started }: RolloutRow) {
  const message = `the rollout is ${state}, and has started ${started} ${started === 1 ? 'wave' : 'waves'}`;
  return conflict({ code: 'ROLLOUT_STATE', message, env });
}
