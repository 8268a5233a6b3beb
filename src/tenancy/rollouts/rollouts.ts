import { randomUUID } from 'node:crypto';
import { newRollout } from '../../../machines/rollout.ts';
import { nextOpening } from '../../api/timeWindow.rules.ts';
import { lockPromotable, type Promotion } from '../bundles/promotion.ts';
import { conflict, notFound } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry } from '../core/audit.ts';
import { toTime } from '../core/lists.rules.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import { findBackend, listManagers } from '../store/backends.ts';
import type {
  BackendRow,
  HostName,
  RolloutPlan,
  RolloutProgress,
  RolloutRow,
  Wave,
  WaveProgress,
} from '../store/database.ts';
import { findEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import {
  findRollout,
  insertRollout,
  listMembers,
  countHosts,
  excuseHosts,
  listExcused,
  listRollouts as selectRollouts,
  setPlan,
  setProgress,
} from '../store/rollouts.ts';
import {
  announceChange,
  applyRolloutEvent,
  type CausedEvent,
  countProgress,
  joinWaves,
  lockRollout,
  type RolloutDependencies,
  timesOf,
  wrongState,
} from './advance.ts';
import { candidatesOf, defaultDeadlineS, statusOf } from './rollout.rules.ts';
import { draw, type DrawnPlan, invalid, requireGate, requireValid } from './preview.ts';
import type { Rollout, RolloutHosts } from './rolloutSchemas.ts';

/** A new rollout that an operator requests. */
interface NewRollout {
  caller: AuditCaller;
  promotion: Promotion & { sha256: string };
  plan: DrawnPlan;
}

/**
 * Starts the rollout of a bundle in its environment; the background work advances it. Throws like `lockPromotable`, 409
 * `ALREADY_DESIRED`, and 422 `ROLLOUT_INVALID`.
 */
export async function startRollout(
  deps: RolloutDependencies,
  { caller, promotion, plan: { draw: id = randomUUID(), ...plan } }: NewRollout,
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
    if ((await findRollout(work, id)) !== null)
      throw conflict({ code: 'ROLLOUT_STATE', message: 'a rollout was started from this preview already', env });
    const { waves, drawn, denying } = await draw(work, { env, rolloutId: id, started: 0, sha256 }, plan.waves);
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
        waiting_told: null,
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
    await excuseHosts(work, id, denying);
    const progress = JSON.stringify(await countProgress(deps, work, row));
    await setProgress(work, id, JSON.parse(progress) as RolloutProgress);
    const bundles = [desired_sha ?? 'none', sha256] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: sha256, env, change: bundles }));
    await announceChange(work, { ...row, progress }, { type: 'rollout.started', now });
    return rolloutView({ ...row, progress }, now);
  });
}

/** An action on the rollout of an environment. */
export interface RolloutAct {
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

/** Changes to a rollout that runs; fields that are missing stay as they are. */
export interface RolloutEdit extends Partial<Pick<RolloutPlan, 'max_failures' | 'soak_s' | 'deadline_s'>> {
  /** Replace the waves that have not started. */
  waves?: Wave[];
}

/**
 * Changes limits, deadline and later waves of a rollout; hosts of later waves are drawn again. Throws 404, 409
 * `ROLLOUT_STATE` if it is over, and 422 `ROLLOUT_INVALID`.
 */
export function editRollout(
  deps: RolloutDependencies,
  { edit, ...act }: RolloutAct & { edit: RolloutEdit },
): Promise<Rollout> {
  return changeHosts(deps, act, async (work, row) => {
    const { waves, ...limits } = edit;
    const { id, env, started } = row;
    const plan = { ...(JSON.parse(row.plan) as RolloutPlan), ...limits };
    requireValid({ ...plan, waves: waves ?? plan.waves });
    if (waves === undefined) {
      await setPlan(work, id, plan);
      return id;
    }
    const excused = await listExcused(work, id, started);
    const later = await draw(work, { env, rolloutId: id, started, sha256: row.sha256 }, waves);
    await setPlan(work, id, { ...plan, waves: [...plan.waves.slice(0, started), ...later.waves], drawn: true });
    await joinWaves(work, id, later.drawn, started);
    await excuseHosts(work, id, [...excused, ...later.denying]);
    const groups = await countHosts(work, timesOf(deps, row));
    const skipped = later.drawn.findIndex((_, index) => candidatesOf(groups, started + index) === 0);
    if (skipped !== -1) throw invalid(`wave ${started + skipped + 1} has only hosts that were skipped`);
    return id;
  });
}

/**
 * Excuses a host, or the swarm that it manages: the rollout does not wait for it, and ignores its failures until it
 * succeeds. Throws 404, and 409 `ROLLOUT_STATE` if the rollout is over, or its wave would have no other host.
 */
export function skipHost(
  deps: RolloutDependencies,
  { backend: backendId, ...act }: RolloutAct & { backend: string },
): Promise<Rollout> {
  return changeHosts(deps, act, async (work, row) => {
    const backend = await findBackend(work, backendId);
    if (backend?.env !== row.env) throw notFound('backend');
    const managers = backend.swarm_id === null ? [backend] : await listManagers(work, backend);
    const counted = managers.find(({ follower }) => follower === 0);
    const candidates = candidatesOf(await countHosts(work, timesOf(deps, row)), backend.rollout_wave);
    const remaining = candidates - (counted === undefined || counted.rollout_outcome === 'excused' ? 0 : 1);
    if (backend.rollout_id !== row.id || remaining === 0) throw cannotSkip(row, backend);
    for (const { id } of managers) await excuseHosts(work, row.id, [id]);
    return backendId;
  });
}

function cannotSkip({ id, env }: RolloutRow, { rollout_id, rollout_wave }: BackendRow) {
  const message =
    rollout_id === id
      ? `wave ${(rollout_wave ?? 0) + 1} would have no host that could verify the bundle: change the later waves, or abort the rollout`
      : 'the host has no wave in this rollout yet; try again in some seconds';
  return conflict({ code: 'ROLLOUT_STATE', message, env });
}

/** Changes plan or hosts of a rollout that is not over; `work` returns the target of the audit entry. */
async function changeHosts(
  deps: RolloutDependencies,
  { caller, env }: RolloutAct,
  work: (store: Store, row: RolloutRow) => Promise<string>,
): Promise<Rollout> {
  const row = await deps.store.transaction().execute(async (store) => {
    const before = await lockRollout(store, env);
    const target = await work(store, before);
    const changed = (await findRollout(store, before.id)) ?? before;
    const progress = await countProgress(deps, store, changed);
    await setProgress(store, changed.id, progress);
    const limits = before.plan === changed.plan ? {} : { change: [limitsOf(before), limitsOf(changed)] as const };
    await addAuditEntry(store, auditEntry(deps, caller, { target, env, ...limits }));
    return { ...changed, progress: JSON.stringify(progress) };
  });
  return rolloutView(row, deps.clock());
}

/** The limits and waves of a rollout as a text for the audit log. */
function limitsOf({ plan }: RolloutRow): string {
  const { waves, max_failures, soak_s, deadline_s } = JSON.parse(plan) as RolloutPlan;
  return JSON.stringify({ waves, max_failures, soak_s, deadline_s });
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
export function rolloutView(row: RolloutRow, now: number): Rollout {
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
    failed_hosts: (progress.failed_hosts ?? []).map(nameView),
    awaited_hosts: (progress.awaited_hosts ?? []).map(nameView),
    created_at: toTime(row.created_at),
    created_by,
  };
}

/** A host as the API names it. */
export function nameView({ id, site, host_name = '' }: HostName): Rollout['failed_hosts'][number] {
  return { id, host_name: host_name === '' ? null : host_name, site };
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
      ...nameView(member),
      wave: (member.wave ?? 0) + 1,
      status: (member.wave ?? 0) < row.started || member.outcome === 'excused' ? statusOf(member) : 'planned',
      last_seen_at: member.last_seen_at === null ? null : toTime(member.last_seen_at),
      deferred_by: member.deferred_by,
    })),
  };
}
