import type { RolloutEvent } from '../../../machines/rollout.ts';
import { auditEntry } from '../core/audit.ts';
import type { Dependencies } from '../core/dependencies.ts';
import type { AuditCaller } from '../core/operator.ts';
import { findBundle } from '../store/bundles.ts';
import type { RolloutPlan, RolloutProgress, RolloutRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import {
  changeRollout,
  countHosts,
  excuseFailures,
  joinWave,
  listCandidates,
  listFailed,
  setProgress,
} from '../store/rollouts.ts';
import type { Occurrence } from '../webhooks/event.rules.ts';
import { announce } from '../webhooks/send.ts';
import { eventOfRollout, failuresOf, progressOf, selectWave } from './rollout.rules.ts';

/** How many of the hosts that have failed are named. */
const FAILED_HOSTS = 10;

/** An event of a rollout, and who has caused it. */
export interface CausedEvent {
  event: RolloutEvent;
  caller: AuditCaller;
}

/**
 * Applies an event to a rollout whose env is locked, with what it means for hosts, and adds it to the audit log; null if
 * the state of the rollout does not allow it.
 */
export async function applyRolloutEvent(
  deps: Dependencies,
  work: Store,
  { row, event, caller }: CausedEvent & { row: RolloutRow },
): Promise<RolloutRow | null> {
  const changed = await changeRollout(work, row, { event, now: deps.clock() });
  if (changed === null) return null;
  if (event.type === 'START_WAVE') await startWave(work, changed);
  if (event.type === 'RESUME') await excuseFailures(work, row.id);
  const target = changed.started === 0 ? row.id : `${row.id} wave ${changed.started}`;
  await addAuditEntry(work, auditEntry(deps, caller, { target, env: row.env }));
  const progress = await countProgress(deps, work, changed);
  await setProgress(work, row.id, progress);
  const type = eventOfRollout(event);
  if (type !== null) await announceChange(work, changed, { type, progress, now: deps.clock() });
  return { ...changed, progress: JSON.stringify(progress) };
}

async function announceChange(
  work: Store,
  { id, env, sha256, halted_by }: RolloutRow,
  { progress, ...change }: Pick<Occurrence, 'type' | 'now'> & { progress: RolloutProgress },
): Promise<void> {
  const bundle = await findBundle(work, sha256);
  await announce(work, { ...change, env, bundle, rollout: { id, failures: failuresOf(progress), halted_by } });
}

/** Lets hosts join the wave that starts. */
async function startWave(work: Store, { id, env, plan, started }: RolloutRow): Promise<void> {
  const wave = started - 1;
  const { waves } = JSON.parse(plan) as RolloutPlan;
  const candidates = await listCandidates(work, { env, rolloutId: id });
  await joinWave(work, { rolloutId: id, wave }, selectWave(candidates, waves[wave] ?? {}));
}

/** Where a rollout is, by what its hosts have told until now; after a start of the service they come back first. */
export async function countProgress(
  { settings, clock, startedAt }: Dependencies,
  store: Store,
  { id, env, started }: RolloutRow,
): Promise<RolloutProgress> {
  const silentSince = clock() - settings.offline_after_s * 1000;
  const seenBefore = silentSince < startedAt ? 0 : silentSince;
  const progress = progressOf(await countHosts(store, { env, rolloutId: id, seenBefore }), started);
  if (failuresOf(progress) === 0) return progress;
  return { ...progress, failed_hosts: await listFailed(store, { env, rolloutId: id, limit: FAILED_HOSTS }) };
}
