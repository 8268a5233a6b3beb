import { randomUUID } from 'node:crypto';
import { newRollout } from '../../../machines/rollout.ts';
import { nextOpening } from '../../api/timeWindow.rules.ts';
import { insertStoredBundle } from '../bundles/archives.ts';
import { lockPromotable, type Promotion } from '../bundles/promotion.ts';
import { resequenceBundle } from '../bundles/repackBundle.ts';
import { ApiError, conflict, notFound } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import { findBundle, findGroups } from '../store/bundles.ts';
import type {
  BackendRow,
  BundleRow,
  EnvRow,
  RolloutPlan,
  RolloutProgress,
  RolloutRow,
  Wave,
  WaveProgress,
} from '../store/database.ts';
import { findBundleTrust, findEnv, listEnvs, lockEnv, setDesiredSha } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import {
  findRollout,
  insertRollout,
  listActiveRollouts,
  listCandidates,
  listMembers,
  listRollouts as selectRollouts,
  setProgress,
} from '../store/rollouts.ts';
import { findWebhook } from '../store/webhooks.ts';
import { announceAwaited } from '../webhooks/deliver.ts';
import {
  applyRolloutEvent,
  type CausedEvent,
  countProgress,
  joinWaves,
  type RolloutDependencies,
  timesOf,
} from './advance.ts';
import {
  completeWaves,
  defaultDeadlineS,
  desiredShaOf,
  drawFault,
  drawWaves,
  planFault,
  statusOf,
} from './rollout.rules.ts';
import type { Rollout, RolloutHosts } from './rolloutSchemas.ts';

/** A new rollout that an operator requests. */
interface NewRollout {
  caller: AuditCaller;
  promotion: Promotion & { sha256: string };
  plan: RolloutPlan;
}

/**
 * Starts the rollout of a bundle in its environment; the background work advances it. Throws like `lockPromotable`, 409
 * `ALREADY_DESIRED`, and 422 `ROLLOUT_INVALID`.
 */
export async function startRollout(
  deps: RolloutDependencies,
  { caller, promotion, plan }: NewRollout,
): Promise<Rollout> {
  const { env, sha256 } = promotion;
  requireValid(plan);
  const now = deps.clock();
  return deps.store.transaction().execute(async (work) => {
    const { desired_sha } = await lockPromotable(work, promotion);
    await requireGate(work, env, plan);
    if (desired_sha === sha256) {
      throw conflict({
        code: 'ALREADY_DESIRED',
        message: 'the bundle is already desired on all hosts of the environment',
        env,
      });
    }
    const id = randomUUID();
    const { waves, drawn } = await draw(work, { env, rolloutId: id }, plan.waves);
    const { state, started } = newRollout({ waves: waves.length, isGated: plan.gate !== 'none' });
    const [newest] = await selectRollouts(work, env, 1);
    const deadline_s = plan.deadline_s ?? defaultDeadlineS(deps.settings.offline_after_s * 1000);
    const row: RolloutRow = {
      ...{
        id,
        env,
        sha256,
        previous_sha: desired_sha,
        state,
        state_since: now,
        started,
        wave_started_at: null,
        halted_by: null,
      },
      ...{
        plan: JSON.stringify({ ...plan, waves, deadline_s, drawn: true }),
        progress: '{}',
        created_by: caller.actor,
      },
      ...{ gate_due_at: null, gate_tries: 0, gate_reason: null },
      // Newer than any other rollout, even if a clock went back.
      created_at: Math.max(now, (newest?.created_at ?? 0) + 1),
    };
    await insertRollout(work, row);
    await joinWaves(work, id, drawn);
    const progress = JSON.stringify(await countProgress(deps, work, row));
    await setProgress(work, id, JSON.parse(progress) as RolloutProgress);
    await addAuditEntry(work, auditEntry(deps, caller, { target: sha256, env }));
    return rolloutView({ ...row, progress }, now);
  });
}

/**
 * Draws the hosts of each wave. A last wave takes the hosts that the requested waves leave, if there are any. Throws 422 for a wave without hosts.
 */
async function draw(
  work: Store,
  rollout: { env: string; rolloutId: string },
  requested: readonly Wave[],
): Promise<{ waves: Wave[]; drawn: string[][] }> {
  const waves = completeWaves(requested);
  const drawn = drawWaves(await listCandidates(work, rollout), waves);
  const isSpare = waves.length > Math.max(1, requested.length) && drawn.at(-1)?.length === 0;
  const used = isSpare ? waves.slice(0, -1) : waves;
  const fault = drawFault(drawn, used);
  if (fault !== null) throw invalid(fault);
  return { waves: used, drawn: drawn.slice(0, used.length) };
}

function requireValid(plan: RolloutPlan): void {
  const fault = planFault(plan);
  if (fault !== null) throw invalid(fault);
}

/**
 * Checks that the webhook of a gate belongs to the environment or to all environments, and has the format `standard`.
 */
async function requireGate(work: Store, env: string, { gate_webhook: id }: RolloutPlan): Promise<void> {
  if (id === undefined) return;
  const webhook = await findWebhook(work, id);
  if (webhook === null || (webhook.env ?? env) !== env) throw invalid(`the environment has no webhook ${id}`);
  if (webhook.format !== 'standard')
    throw invalid(`the webhook has the format ${webhook.format}: a gate needs standard`);
}

function invalid(message: string): ApiError {
  return new ApiError({ status: 422, code: 'ROLLOUT_INVALID', message });
}

/** An action on the rollout of an environment. */
interface RolloutAct {
  caller: AuditCaller;
  env: string;
}

/** Halts the rollout of an environment; throws 404, and 409 `ROLLOUT_STATE` if it is halted or over. */
export function haltRollout(deps: RolloutDependencies, act: RolloutAct): Promise<Rollout> {
  return change(deps, act, () => ({ type: 'HALT', by: 'operator' }));
}

/**
 * Resumes a halted rollout and excuses its failures so far; throws 404, and 409 `ROLLOUT_STATE` for any other state.
 */
export function resumeRollout(deps: RolloutDependencies, act: RolloutAct): Promise<Rollout> {
  return change(deps, act, () => ({ type: 'RESUME' }));
}

/**
 * Passes the gate of a wave, counted from 1; throws 404, and 409 `ROLLOUT_STATE` if the rollout does not wait there.
 */
export function passGate(deps: RolloutDependencies, { wave, ...act }: RolloutAct & { wave: number }): Promise<Rollout> {
  return change(deps, act, ({ started }) => (started === wave ? { type: 'PASS_GATE' } : null));
}

async function change(
  deps: RolloutDependencies,
  { caller, env }: RolloutAct,
  eventOf: (row: RolloutRow) => CausedEvent['event'] | null,
): Promise<Rollout> {
  const row = await deps.store.transaction().execute(async (work) => {
    const current = await lockRollout(work, env);
    const event = eventOf(current);
    const changed = event && (await applyRolloutEvent(deps, work, { row: current, event, caller }));
    if (changed === null) throw wrongState(current);
    return changed;
  });
  return rolloutView(row, deps.clock());
}

/** Locks an environment with a rollout; throws 404 if there is none, and 409 if the newest one is over. */
async function lockRollout(work: Store, env: string): Promise<RolloutRow> {
  const row = await lockEnv(work, env);
  if (row === null) throw notFound('env');
  const current = row.rollout_id === null ? null : await findRollout(work, row.rollout_id);
  if (current !== null) return current;
  const [newest] = await selectRollouts(work, env, 1);
  throw newest === undefined ? notFound('rollout') : wrongState(newest);
}

/** The 409 error for an action that the state of a rollout does not allow. */
function wrongState({ env, state, started }: RolloutRow) {
  const message = `the rollout is ${state}, and has started ${started} waves`;
  return conflict({ code: 'ROLLOUT_STATE', message, env });
}

/** Largest number of attempts to pack the previous bundle again while bundles with a higher sequence are pushed. */
const MAX_TRIES = 5;

/**
 * Aborts the rollout of an environment and makes the previous content desired again. This is the previous bundle if
 * hosts may return to it, otherwise the same content under a new sequence, which awaits signatures if hosts require
 * them. Throws 404, 409 `ROLLOUT_STATE` if the rollout is over, 503 `DISK_FULL`, `BUNDLE_MISSING` and `BUNDLE_DAMAGED`,
 * and PeerErrors. After an error the rollout is halted.
 */
export async function abortRollout(deps: RolloutDependencies, act: RolloutAct): Promise<Rollout> {
  const rollout = await halt(deps, act);
  const previous = await findReturn(deps, rollout);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const repacked = previous && (await resequenceBundle(deps, previous, act.caller.actor));
    const aborted = await finish(deps, act, { rollout, repacked });
    if (aborted !== null) return rolloutView(aborted, deps.clock());
  }
  const message = 'other bundles kept being pushed; the rollout is halted: abort it again';
  throw conflict({ code: 'DESIRED_CHANGED', message, env: act.env });
}

/** Halts the rollout before packing, so that no further host gets the bundle meanwhile. */
async function halt(deps: RolloutDependencies, { caller, env }: RolloutAct): Promise<RolloutRow> {
  return deps.store.transaction().execute(async (work) => {
    const row = await lockRollout(work, env);
    const event = { type: 'HALT', by: 'abort' } as const;
    const halted = { ...caller, act: 'rollout.halt' };
    return (await applyRolloutEvent(deps, work, { row, event, caller: halted })) ?? row;
  });
}

/** The previous bundle, if hosts that run the newer one would refuse to return to it; otherwise null. */
async function findReturn(
  { store }: RolloutDependencies,
  { started, sha256, previous_sha }: RolloutRow,
): Promise<BundleRow | null> {
  if (previous_sha === null || started === 0) return null;
  const [previous, bundle] = await Promise.all([findBundle(store, previous_sha), findBundle(store, sha256)]);
  if (previous === null || bundle === null || previous.allow_rollback === 1) return null;
  return previous.sequence > bundle.sequence ? null : previous;
}

/** Returns null if a bundle with a higher sequence was pushed meanwhile. */
async function finish(
  deps: RolloutDependencies,
  { caller, env }: RolloutAct,
  { rollout, repacked }: { rollout: RolloutRow; repacked: BundleRow | null },
): Promise<RolloutRow | null> {
  return deps.store.transaction().execute(async (work) => {
    const row = await lockRollout(work, env);
    if (row.id !== rollout.id) throw wrongState(row);
    if (repacked !== null && !(await insertReturn(work, repacked, row))) return null;
    return applyRolloutEvent(deps, work, { row, event: { type: 'ABORT' }, caller });
  });
}

/**
 * Makes the repacked bundle the desired one, or the replacement that waits for signatures; returns false if its
 * sequence is stale.
 */
async function insertReturn(work: Store, repacked: BundleRow, { env, previous_sha }: RolloutRow): Promise<boolean> {
  const mustWait = (await findBundleTrust(work, env)) !== null;
  const replaces = mustWait ? previous_sha : null;
  if ((await insertStoredBundle(work, { ...repacked, replaces })) !== 'added') return false;
  if (mustWait) await announceAwaited(work, repacked);
  else await setDesiredSha(work, env, repacked.sha256);
  return true;
}

/** The newest rollout of an environment, even if it is over; throws 404. */
export async function readRollout(deps: AuditDependencies, env: string): Promise<Rollout> {
  const [newest] = await listRollouts(deps, { env, limit: 1 });
  if (newest === undefined) throw notFound('rollout');
  return newest;
}

/** The rollouts of an environment, newest first; throws 404 if the environment does not exist. */
export async function listRollouts(
  { store, clock }: AuditDependencies,
  { env, limit }: { env: string; limit: number },
): Promise<Rollout[]> {
  if ((await findEnv(store, env)) === null) throw notFound('env');
  const now = clock();
  return (await selectRollouts(store, env, limit)).map((row) => rolloutView(row, now));
}

/** A rollout's row as the API returns it. */
function rolloutView(row: RolloutRow, now: number): Rollout {
  const { id, env, sha256, previous_sha, state, halted_by, started, gate_reason, created_by } = row;
  const { waves, gate_webhook = null, deadline_s = null, ...stored } = JSON.parse(row.plan) as RolloutPlan;
  const { max_failures, soak_s, gate, windows } = stored;
  const plan = { max_failures, soak_s, gate, windows };
  const progress = JSON.parse(row.progress) as RolloutProgress;
  return {
    id,
    env,
    sha256,
    previous_sha,
    state,
    state_since: toTime(row.state_since),
    halted_by,
    next_start_at: state === 'pending' ? toTime(nextOpening(plan.windows, now)) : null,
    started,
    ...plan,
    deadline_s,
    gate_webhook,
    gate_reason,
    waves: waves.map((wave, index) => waveView(wave, progress.waves[index])),
    remaining: progress.remaining,
    failed_hosts: progress.failed_hosts ?? [],
    awaited_hosts: progress.awaited_hosts ?? [],
    created_at: toTime(row.created_at),
    created_by,
  };
}

const noHosts: WaveProgress = {
  ...{ hosts: 0, waiting: 0, succeeded: 0, failed: 0, excused: 0 },
  ...{ offline: 0, absent: 0, asleep: 0, verified: 0 },
};

/** Progress that an earlier version has stored lacks fields. */
function waveView({ count, percent, labels = {} }: Wave, progress?: WaveProgress): Rollout['waves'][number] {
  return { count: count ?? null, percent: percent ?? null, labels, ...noHosts, ...progress };
}

/** The hosts of the newest rollout of an environment, by wave and name; throws 404. */
export async function listRolloutHosts(
  deps: RolloutDependencies,
  env: string,
  { wave, limit }: { wave?: number | undefined; limit: number },
): Promise<RolloutHosts> {
  if ((await findEnv(deps.store, env)) === null) throw notFound('env');
  const [row] = await selectRollouts(deps.store, env, 1);
  if (row === undefined) throw notFound('rollout');
  const filter = { ...(wave !== undefined && { wave: wave - 1 }), limit };
  const members = await listMembers(deps.store, { ...timesOf(deps, row), ...filter });
  return {
    hosts: members.map((member) => ({
      id: member.id,
      site: member.site,
      wave: (member.wave ?? 0) + 1,
      status: (member.wave ?? 0) < row.started ? statusOf(member) : 'planned',
      last_seen_at: member.last_seen_at === null ? null : toTime(member.last_seen_at),
      deferred_by: member.deferred_by,
    })),
  };
}

/** The desired bundles of some environments. */
interface Desired {
  /** By name. */
  envs: EnvRow[];
  /** Rollouts that are neither done nor aborted. */
  rollouts: RolloutRow[];
  /** Returns the digest of the desired bundle of a backend in these environments; null for none. */
  of: (backend: Pick<BackendRow, 'env' | 'rollout_id' | 'rollout_wave' | 'applied_sha'>) => string | null;
}

/** Reads the desired bundles of some environments, or of all (null). */
export async function readDesired(store: Store, names: readonly string[] | null): Promise<Desired> {
  const [envs, rollouts] = await Promise.all([listEnvs(store, names), listActiveRollouts(store, names)]);
  const envShas = new Map(envs.map((env) => [env.name, env.desired_sha]));
  const byId = new Map(rollouts.map((rollout) => [rollout.id, rollout]));
  const targets = [...envs.map((env) => env.desired_sha), ...rollouts.map(({ sha256 }) => sha256)];
  const groups = await findGroups(store, [...new Set(targets.filter((sha256) => sha256 !== null))]);
  return {
    envs,
    rollouts,
    of: ({ env, rollout_id, rollout_wave, applied_sha: appliedSha }) => {
      const rollout = byId.get(rollout_id ?? '') ?? null;
      const joined = rollout !== null && rollout_wave !== null && rollout_wave < rollout.started ? rollout : null;
      const sha256 = desiredShaOf({ envSha: envShas.get(env) ?? null, joined, appliedSha });
      const group = groups.get(sha256 ?? '');
      return group !== undefined && group === groups.get(appliedSha ?? '') ? appliedSha : sha256;
    },
  };
}
