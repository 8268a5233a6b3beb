import type { BackendState } from '../../../machines/backend.ts';
import type { LeaseRequest } from '../../api/agentSchemas.ts';
import { isDeferralReason, type Report, tenancyErrorCodes } from '../../api/checkIn.rules.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { ApiError } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry, byService } from '../core/audit.ts';
import type { BearerIdentity } from '../keys/bearerCache.ts';
import { type KeyRing, signGrant } from '../keys/keyRing.ts';
import { agentRole, audience, authMount, secretsRole } from '../keys/secretstoreRoles.rules.ts';
import { outcomeAfterReport } from '../rollouts/rollout.rules.ts';
import { addReport, type AgentRow, findAgent, recordApplied, recordHeartbeat, setTrouble } from '../store/agents.ts';
import { changeBackend, findBackend, isShared, type ManagerRow } from '../store/backends.ts';
import { findBundle, listSignatures } from '../store/bundles.ts';
import type { HostOutcome } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import type { Secretstore } from '../peers/secretstore.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import type { OutcomeChange } from '../store/rollouts.ts';
import { announce } from '../webhooks/deliver.ts';
import { eventOfReport, isExplained, troubleOf, troubleReasonOf } from '../webhooks/event.rules.ts';

/** Why a host asks for a lease: to read the secrets of an apply, or to replace its token. */
type LeasePurpose = LeaseRequest['purpose'];

/** Dependencies of leases. */
export interface LeaseDependencies extends AuditDependencies {
  readonly secretstore: Pick<Secretstore, 'hasSecretsRole'>;
  /** Returns the current signing keys. */
  readonly keys: () => KeyRing;
  readonly settings: TenancySettings;
}

/** The 401 error for a host's bearer token that is not accepted, or no longer accepted. */
export function agentUnauthenticated(): ApiError {
  return new ApiError({ status: 401, code: 'AGENT_UNAUTHENTICATED', message: 'bearer refused' });
}

/**
 * Reads the calling backend from the store at each call. Throws 401 unless its token is accepted for this kind of call.
 */
async function readAgent(deps: { store: Store }, token: BearerIdentity, call: AgentCall): Promise<AgentRow> {
  const backend = await findAgent(deps.store, token.backendId);
  if (backend === null || !isAccepted({ backend, token }, call)) throw agentUnauthenticated();
  return backend;
}

/** Like `readAgent`; also throws 409 if the body names an environment other than the backend's. */
export async function readAgentOf(
  deps: { store: Store },
  { token, env }: { token: BearerIdentity; env: string },
  call: AgentCall,
): Promise<AgentRow> {
  const agent = await readAgent(deps, token, call);
  if (agent.env === env) return agent;
  throw new ApiError({
    status: 409,
    code: tenancyErrorCodes.envMismatch,
    message: `the bearer token belongs to environment ${agent.env}`,
  });
}

/** A bundle that a host may download. */
export interface OfferedBundle {
  sha256: string;
  sizeBytes: number;
  /**
   * Whether the host may be redirected to the storage. Other hosts can reach only this service, under whatever name.
   */
  mayBeSentOn: boolean;
}

/**
 * Finds a bundle in the environment of the calling backend. Throws 404 if there is none; bundles of other environments
 * count as missing.
 */
export async function offerBundle(
  deps: { store: Store },
  { token, sha256 }: { token: BearerIdentity; sha256: string },
): Promise<OfferedBundle> {
  const { env, transport } = await readAgent(deps, token, 'bundle');
  const bundle = await findBundle(deps.store, sha256);
  if (bundle?.env === env) return { sha256, sizeBytes: bundle.size_bytes, mayBeSentOn: transport === 'system' };
  throw new ApiError({ status: 404, code: 'BUNDLE_NOT_FOUND', message: 'there is no such bundle for this bearer' });
}

/**
 * Returns the signatures of a bundle in the calling backend's environment, each as JSON text. Throws 404 like
 * `offerBundle`.
 */
export async function offerSignatures(
  deps: { store: Store },
  call: { token: BearerIdentity; sha256: string },
): Promise<string[]> {
  const { sha256 } = await offerBundle(deps, call);
  return (await listSignatures(deps.store, sha256)).map(({ body }) => body);
}

/**
 * Seconds in which a lease can be used to log in; the secretstore allows three minutes more for its clock. The resulting
 * token has a separate lifetime. A lease of secrets is used at once.
 */
const leaseLifetimesS: Record<LeasePurpose, number> = { apply: 120, renew: 300 };

/** The right to log in to the secretstore once, with the fields of the answer to a lease request. */
interface LeaseFields {
  method: 'jwt';
  mount: string;
  role: string;
  jwt: string;
  expires_at: string;
}

/**
 * Signs a lease for a backend: to read secrets once (`apply`), or to replace its token (`renew`). Throws 401 to a
 * retiring backend that asks for secrets.
 */
export async function giveLease(
  deps: LeaseDependencies,
  { token, purpose }: { token: BearerIdentity; purpose: LeasePurpose },
): Promise<LeaseFields> {
  const agent = await readAgent(deps, token, purpose === 'apply' ? 'secrets' : 'renewal');
  const readsSecrets = purpose === 'apply' && (await hasSecretsRole(deps));
  const role = readsSecrets ? secretsRole : { ...agentRole, audience };
  const { jwt, expiresAt } = await signGrant(deps.keys(), agent, {
    issuer: deps.settings.public_url,
    audience: role.audience,
    lifetimeS: leaseLifetimesS[purpose],
    now: deps.clock(),
  });
  return { method: 'jwt', mount: authMount, role: role.name, jwt, expires_at: expiresAt };
}

/** An unavailable secretstore is taken for one that was set up; the host's login will show it. */
async function hasSecretsRole({ secretstore }: Pick<LeaseDependencies, 'secretstore'>): Promise<boolean> {
  return secretstore.hasSecretsRole().catch((error: unknown) => {
    if (error instanceof PeerError) return true;
    throw error;
  });
}

/** Stores a report durably and announces changes of its problem. Returns false if the report was already stored. */
export async function receiveReport(
  deps: AuditDependencies,
  { token, report }: { token: BearerIdentity; report: Report },
): Promise<boolean> {
  const agent = await readAgentOf(deps, { token, env: report.env }, 'report');
  const now = deps.clock();
  if (report.outcome === 'heartbeat') return receiveHeartbeat(deps.store, agent, { report, now });
  return deps.store.transaction().execute(async (work) => {
    if (report.outcome === 'down') await lockEnv(work, agent.env);
    if (!(await addReport(work, agent.id, { report, now, rollout: outcomeChangeOf(agent, report) }))) return false;
    const { outcome, applied_sha: appliedSha } = report;
    // A report of another bundle may have waited in the queue of the host.
    const isCurrent = appliedSha !== null && [agent.desired_sha, agent.rollout_sha].includes(appliedSha);
    if (outcome === 'applied' && isCurrent) await recordApplied(work, agent.id, { appliedSha, now });
    await announceTrouble(work, agent, { report, now });
    return true;
  });
}

/** The outcome of the host in its environment's rollout after a report; null if the host has not joined a rollout. */
function outcomeChangeOf({ rollout_id, rollout_sha }: AgentRow, report: Report): OutcomeChange | null {
  if (rollout_id === null || rollout_sha === null) return null;
  const { outcome, desired_sha: desiredSha, applied_sha: appliedSha } = report;
  const next = (before: HostOutcome) => outcomeAfterReport(before, { outcome, desiredSha, appliedSha }, rollout_sha);
  return { rolloutId: rollout_id, next };
}

/** A report and the time at which it was received. */
interface Receipt {
  report: Report;
  now: number;
}

/**
 * A heartbeat updates only the time of the last report. It also ends the previous problem, unless the host is only
 * waiting.
 */
async function receiveHeartbeat(store: Store, agent: AgentRow, { report, now }: Receipt): Promise<boolean> {
  await recordHeartbeat(store, agent.id, now);
  if (agent.trouble !== null && !isDeferralReason(report.reason))
    await store.transaction().execute((work) => announceTrouble(work, agent, { report, now }));
  return true;
}

/** Announces a reported problem once, not again at each tick. Announces nothing for a host that is being retired. */
async function announceTrouble(work: Store, { id, env, state }: AgentRow, { report, now }: Receipt): Promise<void> {
  if (state !== 'active' && state !== 'offline') return;
  const trouble = troubleOf(report);
  const reason = trouble === null ? null : troubleReasonOf(report);
  if (!(await setTrouble(work, id, { trouble, reason, now }))) return;
  const type = eventOfReport(report.outcome);
  const backend = type && (await findBackend(work, id));
  if (!backend) return;
  const { desired_sha, code, detail, output_tail: output } = report;
  const bundle = desired_sha === null ? null : await findBundle(work, desired_sha);
  await announce(work, { type, now, env, backend, bundle, code, ...(isExplained(type) && { detail, output }) });
}

/**
 * Continues the retirement of a manager without `down`, because other managers of the same swarm remain in its locked
 * environment: the services of the swarm keep running. Returns true if this applies.
 */
export async function skipDown(
  deps: { clock: () => number },
  work: Store,
  row: Pick<ManagerRow, 'id' | 'env' | 'swarm_id'>,
): Promise<boolean> {
  if (!(await isShared(work, row))) return false;
  await changeBackend(work, row.id, { event: { type: 'SKIP_DOWN' }, now: deps.clock() });
  await addAuditEntry(work, auditEntry(deps, byService('backend.skipDown'), { target: row.id, env: row.env }));
  return true;
}

/** Kinds of agent calls, distinguished by the hosts that may make them. */
type AgentCall = 'check-in' | 'bundle' | 'secrets' | 'renewal' | 'report';

/** The backend's row and the metadata of the call's token, which are compared. */
interface AccessFacts {
  backend: Pick<AgentRow, 'state' | 'generation' | 'oldest_generation' | 'locked_at' | 'env'>;
  token: { generation: number; env: string };
}

const liveStates: readonly BackendState[] = ['invited', 'active', 'offline', 'retiring'];

/**
 * True if the generation of a token is not superseded, and the backend is not locked and in a state that accepts calls.
 * A retiring host gets no more secrets. While a retirement finishes, a host may still deliver its queued reports.
 */
export function isAccepted({ backend, token }: AccessFacts, call: AgentCall): boolean {
  if (token.generation < backend.oldest_generation || token.generation > backend.generation) return false;
  if (token.env !== backend.env || backend.locked_at !== null) return false;
  if (call === 'secrets' && backend.state === 'retiring') return false;
  return liveStates.includes(backend.state) || (backend.state === 'finishing' && call === 'report');
}

/** The facts that determine a host's orders; sizes in bytes. */
export interface OrderFacts {
  state: BackendState;
  purgeVolumes: boolean;
  /** Another manager leads the swarm, and takes down the services of all managers. */
  isFollower: boolean;
  appliedSha: string | null;
  /** The environment is held after a restore. */
  isHeld: boolean;
  /** The desired bundle of the environment; null if there is none. */
  desired: { sha256: string; sizeBytes: number; emergency: boolean } | null;
}

/** The orders for a host. */
export interface Orders {
  action: 'apply' | 'none' | 'down';
  desired_sha: string | null;
  bundle?: { sha256: string; size_bytes: number; emergency?: true };
  purge_volumes?: boolean;
}

/**
 * Decides the next step of a host: nothing while a restore is reviewed; then a retirement comes first, and the desired
 * bundle of its environment last.
 */
export function ordersOf({ state, purgeVolumes, isFollower, appliedSha, isHeld, desired }: OrderFacts): Orders {
  if (isHeld) return { action: 'none', desired_sha: null };
  if (state === 'retiring' && isFollower) return { action: 'none', desired_sha: null };
  if (state === 'retiring') return { action: 'down', desired_sha: null, purge_volumes: purgeVolumes };
  const desired_sha = desired?.sha256 ?? null;
  if (desired === null || desired_sha === appliedSha) return { action: 'none', desired_sha };
  const { sha256, sizeBytes: size_bytes, emergency } = desired;
  return { action: 'apply', desired_sha, bundle: { sha256, size_bytes, ...(emergency && { emergency }) } };
}
