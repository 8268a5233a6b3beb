import { insertStoredBundle } from '../bundles/archives.ts';
import { expectedSettings, viewBundle } from '../bundles/bundleList.ts';
import { contentSequence } from '../bundles/hostPolicies.rules.ts';
import {
  findReturningHosts,
  lockPromotable,
  overrideRollout,
  requireConditions,
  requireNoRollout,
  rollbackDenied,
} from '../bundles/promotion.ts';
import { readPins, resequenceBundle } from '../bundles/repackBundle.ts';
import { conflict, notFound } from '../core/apiError.rules.ts';
import { auditEntry } from '../core/audit.ts';
import type { NewerHost } from '../store/backends.ts';
import { findBundle, groupOf } from '../store/bundles.ts';
import type { BundleRow, RolloutRow } from '../store/database.ts';
import { findBundleTrust, findEnv, lockEnv, setDesiredSha } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { announceAwaited } from '../webhooks/deliver.ts';
import { applyRolloutEvent, lockRollout, type RolloutDependencies, wrongState } from './advance.ts';
import { addAuditEntry } from '../store/people.ts';
import { type DrawnPlan, requirePlan } from './preview.ts';
import { nameView, type RolloutAct, rolloutView, startRollout } from './rollouts.ts';
import type { Rollback, Rollout } from './rolloutSchemas.ts';

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
    const repacked = previous && (await resequenceBundle(deps, previous, { receivedFrom: act.caller.actor }));
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
    if (repacked !== null && !(await insertReturn(work, repacked, { ...row, now: deps.clock() }))) return null;
    return applyRolloutEvent(deps, work, { row, event: { type: 'ABORT' }, caller });
  });
}

/**
 * Makes the repacked bundle the desired one, or the replacement that waits for signatures; returns false if its
 * sequence is stale.
 */
async function insertReturn(
  work: Store,
  repacked: BundleRow,
  { env, previous_sha, now }: RolloutRow & { now: number },
): Promise<boolean> {
  const mustWait = (await findBundleTrust(work, env)) !== null;
  const replaces = mustWait ? previous_sha : null;
  if ((await insertStoredBundle(work, { ...repacked, replaces })) !== 'added') return false;
  if (mustWait) await announceAwaited(work, repacked);
  else await setDesiredSha(work, env, repacked.sha256, { since: now, isCopy: true });
  return true;
}

/** A return of an environment to an earlier bundle. */
interface RollbackAct extends RolloutAct {
  /** Digest of the earlier bundle; by default the previous one, or in a rollout the one from before it. */
  sha256?: string;
  /** Keeps the versions of secrets of the earlier bundle, instead of the versions that are deployed now. */
  withSecrets: boolean;
  /** Waves; without them, all hosts get the content at once. */
  plan?: DrawnPlan;
  /** Aborts the rollout of the environment, if it has one. */
  overridesRollout: boolean;
  conditions: { if_desired?: string | null; pipeline?: number };
}

/**
 * Gives the content of an earlier bundle a new sequence, and makes it desired, at once or in waves. Hosts that still run
 * this content keep their bundle, and so do hosts that run a newer one and deny rollbacks. If the hosts require
 * signatures, the new bundle waits for them instead. Throws 404, 409 like `lockPromotable`, `ALREADY_DESIRED`,
 * `PREVIOUS_UNKNOWN`, and `ROLLBACK_DENIED` if every host that would have to return denies it, 422 `ROLLOUT_INVALID`, 503
 * like `resequenceBundle`, and PeerErrors.
 */
export async function rollBack(deps: RolloutDependencies, requested: RollbackAct): Promise<Rollback> {
  const { target, desired, denying, act } = await prepareRollback(deps, requested);
  const { caller, env, plan } = act;
  const pins = act.withSecrets || desired === null ? new Map<string, number>() : await readPins(deps, desired);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const packed = await resequenceBundle(deps, target, { receivedFrom: caller.actor, pins });
    const bundle = { ...packed, returns_to: contentSequence(target) };
    const missing = await insertRollback(deps, act, { bundle, isWhole: plan === undefined });
    if (missing === 'stale') continue;
    const promotion = { env, sha256: bundle.sha256, ...act.conditions };
    const starter = { ...caller, act: 'rollout.start' };
    const started = plan && missing === null ? await startRollout(deps, { caller: starter, promotion, plan }) : null;
    return {
      ...{ bundle: await viewBundle(deps.store, bundle), from: target.sha256, missing, rollout: started },
      ...{ denying: denying.length, denying_hosts: denying.slice(0, NAMED_HOSTS).map(nameView) },
    };
  }
  throw conflict({ code: 'DESIRED_CHANGED', message: 'other bundles kept being pushed; try again', env });
}

/** Largest number of denying hosts that are named. */
const NAMED_HOSTS = 100;

/** A rollback that may begin: its bundles, and the hosts that deny it. */
interface PreparedRollback {
  target: BundleRow;
  desired: BundleRow | null;
  denying: NewerHost[];
  act: RollbackAct;
}

/**
 * Finds the bundle to return to, and checks all conditions. Before a rollback in waves, the rollout that it overrides is
 * aborted, so that its hosts have a bundle until their wave.
 */
async function prepareRollback(deps: RolloutDependencies, act: RollbackAct): Promise<PreparedRollback> {
  const { store } = deps;
  const { caller, env, plan, conditions } = act;
  const row = await findEnv(store, env);
  if (row === null) throw notFound('env');
  requireConditions(row, { env, sha256: null, ...conditions });
  if (!act.overridesRollout) requireNoRollout(row);
  const isOverride = row.rollout_id !== null;
  const desired = row.desired_sha === null ? null : await findBundle(store, row.desired_sha);
  const target = await findTarget(deps, act, isOverride ? row.desired_sha : row.previous_sha);
  const [group, returnsTo] = [groupOf(target), contentSequence(target)];
  const isSame = desired !== null && group === groupOf(desired);
  if (isSame && (!isOverride || plan !== undefined)) throw alreadyDesired(env, isOverride);
  const { denying, willing } = await findReturningHosts(store, { env, returnsTo, group });
  if (denying.length > 0 && willing.length === 0) throw rollbackDenied(env, denying);
  if (plan !== undefined) await requirePlan(store, { env, sha256: target.sha256, returnsTo, plan });
  if (!isOverride || plan === undefined) return { target, desired, denying, act };
  await abortRollout(deps, { caller: { ...caller, act: 'rollout.abort' }, env });
  const aborted = await findEnv(store, env);
  const expected = conditions.if_desired === undefined ? {} : { if_desired: aborted?.desired_sha ?? null };
  return { target, desired, denying, act: { ...act, conditions: { ...conditions, ...expected } } };
}

function alreadyDesired(env: string, isOverride: boolean) {
  const message = isOverride
    ? 'all hosts return to the content from before the rollout at once: abort it, or leave the waves out'
    : 'the content of the bundle is already desired';
  return conflict({ code: 'ALREADY_DESIRED', message, env });
}

/** The bundle to return to; throws 404 and 409. */
async function findTarget(
  { store }: RolloutDependencies,
  { env, sha256 }: RollbackAct,
  previousSha: string | null,
): Promise<BundleRow> {
  const wanted = sha256 ?? previousSha;
  if (wanted === null) {
    const message = 'the service does not know which bundle was desired before: name one';
    throw conflict({ code: 'PREVIOUS_UNKNOWN', message, env });
  }
  const target = await findBundle(store, wanted);
  if (target?.env !== env) throw notFound('bundle');
  return target;
}

/**
 * Adds the bundle of a rollback, and makes it the desired one unless it is rolled out in waves. Returns the signatures
 * that it lacks, null for none, and `stale` if a bundle with a higher sequence was pushed meanwhile.
 */
async function insertRollback(
  deps: RolloutDependencies,
  { caller, env, conditions, overridesRollout }: RollbackAct,
  { bundle, isWhole }: { bundle: BundleRow; isWhole: boolean },
): Promise<Rollback['missing'] | 'stale'> {
  return deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null) throw notFound('env');
    requireConditions(row, { env, sha256: null, ...conditions });
    if (!overridesRollout) requireNoRollout(row);
    const desired = row.desired_sha === null ? null : await findBundle(work, row.desired_sha);
    const isCopy = desired !== null && groupOf(bundle) === groupOf(desired);
    const trust = await findBundleTrust(work, env);
    const replaces = isCopy && trust !== null ? desired.sha256 : null;
    if ((await insertStoredBundle(work, { ...bundle, replaces })) !== 'added') return 'stale';
    if (overridesRollout) await overrideRollout(deps, work, { caller, env });
    const change = [row.desired_sha ?? 'none', bundle.sha256] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: bundle.sha256, env, change }));
    if (trust !== null) {
      await announceAwaited(work, bundle);
      const { signers = [] } = expectedSettings(trust) ?? {};
      return { required: trust.threshold, signers: [...signers] };
    }
    if (!isWhole) return null;
    await lockPromotable(work, { env, sha256: bundle.sha256, ...conditions });
    await setDesiredSha(work, env, bundle.sha256, { since: deps.clock(), isCopy });
    return null;
  });
}
