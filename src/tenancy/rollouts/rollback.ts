import { insertStoredBundle } from '../bundles/archives.ts';
import { expectedSettings, viewBundle } from '../bundles/bundleList.ts';
import { lockPromotable, requireConditions, requireNoDenial, requireNoRollout } from '../bundles/promotion.ts';
import { readPins, resequenceBundle } from '../bundles/repackBundle.ts';
import { conflict, notFound } from '../core/apiError.rules.ts';
import { auditEntry } from '../core/audit.ts';
import { findBundle } from '../store/bundles.ts';
import type { BundleRow, EnvRow, RolloutPlan, RolloutRow } from '../store/database.ts';
import { findBundleTrust, findEnv, lockEnv, setDesiredSha } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { announceAwaited } from '../webhooks/deliver.ts';
import { applyRolloutEvent, type RolloutDependencies } from './advance.ts';
import { addAuditEntry } from '../store/people.ts';
import { lockRollout, type RolloutAct, rolloutView, startRollout, wrongState } from './rollouts.ts';
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
  /** Digest of the earlier bundle; the previous one by default. */
  sha256?: string;
  /** Keeps the versions of secrets of the earlier bundle, instead of the versions that are deployed now. */
  withSecrets: boolean;
  /** Waves; without them, all hosts get the content at once. */
  plan?: RolloutPlan;
  conditions: { if_desired?: string | null; pipeline?: number };
}

/**
 * Gives the content of an earlier bundle a new sequence, and makes it desired, at once or in waves. Hosts that still run
 * this content keep their bundle. If the hosts require signatures, the new bundle waits for them instead. Throws 404,
 * 409 like `lockPromotable`, `ALREADY_DESIRED`, `PREVIOUS_UNKNOWN` and `ROLLBACK_DENIED`, 422 `ROLLOUT_INVALID`, 503 like
 * `resequenceBundle`, and PeerErrors.
 */
export async function rollBack(deps: RolloutDependencies, act: RollbackAct): Promise<Rollback> {
  const { caller, env, plan } = act;
  const row = await findEnv(deps.store, env);
  const target = await findTarget(deps, row, act);
  const desired = row?.desired_sha ? await findBundle(deps.store, row.desired_sha) : null;
  const pins = act.withSecrets || desired === null ? new Map<string, number>() : await readPins(deps, desired);
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const bundle = await resequenceBundle(deps, target, { receivedFrom: caller.actor, pins });
    const missing = await insertRollback(deps, act, { bundle, isWhole: plan === undefined });
    if (missing === 'stale') continue;
    const promotion = { env, sha256: bundle.sha256, ...act.conditions };
    const started = plan && missing === null ? await startRollout(deps, { caller, promotion, plan }) : null;
    return { bundle: await viewBundle(deps.store, bundle), from: target.sha256, missing, rollout: started };
  }
  throw conflict({ code: 'DESIRED_CHANGED', message: 'other bundles kept being pushed; try again', env });
}

/** The bundle to return to; throws 404 and 409. */
async function findTarget(
  { store }: RolloutDependencies,
  row: EnvRow | null,
  { env, sha256, conditions }: RollbackAct,
): Promise<BundleRow> {
  if (row === null) throw notFound('env');
  requireConditions(row, { env, sha256: null, ...conditions });
  requireNoRollout(row);
  const wanted = sha256 ?? row.previous_sha;
  if (wanted === null) {
    const message = 'the service does not know which bundle was desired before: name one';
    throw conflict({ code: 'PREVIOUS_UNKNOWN', message, env });
  }
  const target = await findBundle(store, wanted);
  if (target === null) throw notFound('bundle');
  if (target.env !== env)
    throw conflict({ code: 'BUNDLE_ENV', message: 'the bundle belongs to another environment', env });
  if (target.sha256 === row.desired_sha)
    throw conflict({ code: 'ALREADY_DESIRED', message: 'the bundle is already desired', env });
  await requireNoDenial(store, target);
  return target;
}

/**
 * Adds the bundle of a rollback, and makes it the desired one unless it is rolled out in waves. Returns the signatures
 * that it lacks, null for none, and `stale` if a bundle with a higher sequence was pushed meanwhile.
 */
async function insertRollback(
  deps: RolloutDependencies,
  { caller, env, conditions }: RollbackAct,
  { bundle, isWhole }: { bundle: BundleRow; isWhole: boolean },
): Promise<Rollback['missing'] | 'stale'> {
  return deps.store.transaction().execute(async (work) => {
    const row = await lockEnv(work, env);
    if (row === null) throw notFound('env');
    requireConditions(row, { env, sha256: null, ...conditions });
    requireNoRollout(row);
    if ((await insertStoredBundle(work, bundle)) !== 'added') return 'stale';
    const change = [row.desired_sha ?? 'none', bundle.sha256] as const;
    await addAuditEntry(work, auditEntry(deps, caller, { target: bundle.sha256, env, change }));
    const trust = await findBundleTrust(work, env);
    if (trust !== null) {
      await announceAwaited(work, bundle);
      const { signers = [] } = expectedSettings(trust) ?? {};
      return { required: trust.threshold, signers: [...signers] };
    }
    if (!isWhole) return null;
    await lockPromotable(work, { env, sha256: bundle.sha256, ...conditions });
    await setDesiredSha(work, env, bundle.sha256, { since: deps.clock() });
    return null;
  });
}
