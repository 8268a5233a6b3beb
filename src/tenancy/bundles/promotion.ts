import { conflict, notFound } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry } from '../core/audit.ts';
import type { AuditCaller } from '../core/permission.rules.ts';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import { type EarlierContent, listNewerHosts, listReturningHosts, type NewerHost } from '../store/backends.ts';
import { findBundle, groupOf } from '../store/bundles.ts';
import type { BundleRow, EnvRow } from '../store/database.ts';
import { lockEnv, setPipeline } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import { changeRollout, findRollout } from '../store/rollouts.ts';
import { announce } from '../webhooks/deliver.ts';
import { oneLine, rolloutOf } from '../webhooks/event.rules.ts';
import { viewBundle } from './bundleList.ts';
import { deniesRollback } from './hostPolicies.rules.ts';

/** The new desired bundle of an environment, or null, and the conditions for the change. */
export interface Promotion {
  env: string;
  sha256: string | null;
  /** The bundle that must currently be the desired one. */
  if_desired?: string | null;
  /** Number of the CI pipeline that promotes. */
  pipeline?: number;
}

/**
 * Locks the environment of a promotion; bundles of a locked environment are not removed. Throws 404, also for a bundle
 * of another environment, and 409: `ROLLOUT_ACTIVE`, `DESIRED_DIFFERS` and `PIPELINE_STALE` if a condition fails,
 * `SIGNATURE_AWAITED` for a bundle that lacks required signatures.
 */
export async function lockPromotable(work: Store, promotion: Promotion): Promise<EnvRow> {
  const { env, sha256, pipeline } = promotion;
  const row = await lockEnv(work, env);
  if (row === null) throw notFound('env');
  requireConditions(row, promotion);
  requireNoRollout(row);
  if (pipeline !== undefined) await setPipeline(work, env, pipeline);
  if (sha256 === null) return row;
  const bundle = await findBundle(work, sha256);
  // A bundle of another environment counts as missing: the caller need not know that environment.
  if (bundle?.env !== env) throw notFound('bundle');
  const { signature, signers } = await viewBundle(work, bundle);
  if (signature === 'awaiting signature') throw signatureAwaited(env, signers);
  await requireAcceptance(work, bundle);
  return row;
}

/** Number of hosts to read at a time, and to name. */
const [HOSTS_AT_ONCE, NAMED_HOSTS] = [500, 10];

/**
 * Throws 409 if hosts would refuse a bundle because they have applied a newer one: `ROLLBACK_NEEDED`, or
 * `ROLLBACK_DENIED` if their policies deny rollbacks.
 */
async function requireAcceptance(work: Store, bundle: BundleRow): Promise<void> {
  const { env, sequence } = bundle;
  if (bundle.allow_rollback === 1) return requireNoDenial(work, bundle);
  const newer = await listNewerHosts(work, bundle, { after: null, limit: NAMED_HOSTS + 1 });
  if (newer.length === 0) return;
  const message = `sequence ${sequence} is too low for hosts that have applied a newer bundle: ${namesOf(newer)}`;
  throw conflict({ code: 'ROLLBACK_NEEDED', message, env });
}

/** Throws 409 `ROLLBACK_DENIED` with the names of hosts that have applied a newer bundle and deny rollbacks. */
async function requireNoDenial(store: Store, bundle: BundleRow): Promise<void> {
  const newer = await allPages((page) => listNewerHosts(store, bundle, page));
  const denying = newer.filter(isDenying);
  if (denying.length > 0) throw rollbackDenied(bundle.env, denying);
}

/** The 409 error that names hosts whose policies deny rollbacks. */
export function rollbackDenied(env: string, denying: readonly NewerHost[]) {
  const message = `the policy of these hosts denies rollbacks (policy.deny: rollback): ${namesOf(denying)}`;
  return conflict({ code: 'ROLLBACK_DENIED', message, env });
}

async function allPages(
  read: (page: { after: string | null; limit: number }) => Promise<NewerHost[]>,
): Promise<NewerHost[]> {
  const all: NewerHost[] = [];
  let page: NewerHost[] = [];
  do {
    page = await read({ after: page.at(-1)?.id ?? null, limit: HOSTS_AT_ONCE });
    all.push(...page);
  } while (page.length === HOSTS_AT_ONCE);
  return all;
}

/** Hosts that would have to return to older content: those whose policies deny it, and the others. */
export interface ReturningHosts {
  denying: NewerHost[];
  /** The other managers of swarms with a denying host: they keep their bundle too. */
  beside: NewerHost[];
  willing: NewerHost[];
}

/** The hosts of an environment that a rollback to earlier content concerns. */
export async function findReturningHosts(store: Store, target: EarlierContent): Promise<ReturningHosts> {
  const returning = await allPages((page) => listReturningHosts(store, target, page));
  const denying = returning.filter(isDenying);
  const swarms = new Set(denying.flatMap(({ swarm_id }) => swarm_id ?? []));
  const others = returning.filter((host) => !denying.includes(host));
  const isBeside = ({ swarm_id }: NewerHost) => swarm_id !== null && swarms.has(swarm_id);
  return { denying, beside: others.filter(isBeside), willing: others.filter((host) => !isBeside(host)) };
}

/** The hosts that keep their bundle in a rollback, because their policy or one in their swarm denies it. */
export async function findDenyingHosts(
  work: Store,
  { env, sha256, ...requested }: { env: string; sha256: string; returnsTo?: number },
): Promise<ReadonlySet<string>> {
  const bundle = await findBundle(work, sha256);
  const returnsTo = requested.returnsTo ?? bundle?.returns_to ?? null;
  if (bundle === null || returnsTo === null) return new Set();
  const { denying, beside } = await findReturningHosts(work, { env, returnsTo, group: groupOf(bundle) });
  return new Set([...denying, ...beside].map(({ id }) => id));
}

function isDenying({ check_in }: Pick<NewerHost, 'check_in'>): boolean {
  return check_in !== null && deniesRollback(JSON.parse(check_in) as CheckInRequest);
}

function namesOf(hosts: readonly NewerHost[]): string {
  const names = hosts.slice(0, NAMED_HOSTS).map(({ id, host_name, site }) => `${host_name || id} (${oneLine(site)})`);
  return [...names, ...(hosts.length > NAMED_HOSTS ? ['…'] : [])].join(', ');
}

/** Throws 409 unless the conditions of a promotion hold. */
export function requireConditions({ name, ...row }: EnvRow, { if_desired, pipeline }: Promotion): void {
  if (if_desired !== undefined && row.desired_sha !== if_desired) {
    const message = `the desired bundle is ${row.desired_sha ?? 'none'}, not ${if_desired ?? 'none'}`;
    throw conflict({ code: 'DESIRED_DIFFERS', message, env: name });
  }
  if (pipeline !== undefined && row.pipeline !== null && row.pipeline > pipeline) {
    const message = `pipeline ${row.pipeline} has promoted a bundle; ${pipeline} is older`;
    throw conflict({ code: 'PIPELINE_STALE', message, env: name });
  }
}

/**
 * Aborts the rollout of an environment, if it has one, because an urgent promotion takes its place: all hosts get the
 * promoted bundle.
 */
export async function overrideRollout(
  deps: AuditDependencies,
  work: Store,
  { caller, env }: { caller: AuditCaller; env: string },
): Promise<void> {
  const id = (await lockEnv(work, env))?.rollout_id ?? null;
  const rollout = id === null ? null : await findRollout(work, id);
  if (rollout === null) return;
  const now = deps.clock();
  const aborted = await changeRollout(work, rollout, { event: { type: 'ABORT' }, now });
  if (aborted === null) return;
  await addAuditEntry(work, auditEntry(deps, { ...caller, act: 'rollout.abort' }, { target: rollout.id, env }));
  const bundle = await findBundle(work, rollout.sha256);
  await announce(work, { type: 'rollout.aborted', now, env, bundle, rollout: rolloutOf(aborted) });
}

/** Throws 409 `ROLLOUT_ACTIVE` while an environment has a rollout that is neither done nor aborted. */
export function requireNoRollout({ name, rollout_id }: Pick<EnvRow, 'name' | 'rollout_id'>): void {
  if (rollout_id === null) return;
  const message = 'a rollout of this environment is in progress: wait until it is done, or abort it';
  throw conflict({ code: 'ROLLOUT_ACTIVE', message, env: name });
}

function signatureAwaited(env: string, signers: string[]) {
  const signed = signers.length === 0 ? 'no trusted signer has signed the bundle' : `only ${signers.join(', ')} signed`;
  const message = `the hosts of ${env} require more signatures: ${signed}`;
  return conflict({ code: 'SIGNATURE_AWAITED', message, env });
}
