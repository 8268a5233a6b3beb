import { type CheckInRequest, tenancyErrorCodes, type ToldSwarm } from '../../api/checkIn.rules.ts';
import { contentSequence, deniesRollback, settingsDifference } from '../bundles/hostPolicies.rules.ts';
import { expectedByText } from '../bundles/bundleList.ts';
import { ApiError } from '../core/apiError.rules.ts';
import { type AuditDependencies, auditEntry, byService } from '../core/audit.ts';
import type { BearerIdentity } from '../keys/bearerCache.ts';
import { desiredShaOf, outcomeAfterCheckIn } from '../rollouts/rollout.rules.ts';
import { type AgentRow, type CheckInFacts, findAgent, recordCheckIn, recordRefusal } from '../store/agents.ts';
import { changeBackend, findBackend, isMove, listManagers, placeInSwarm } from '../store/backends.ts';
import { findBundle, groupOf } from '../store/bundles.ts';
import type { BackendRow, BundleRow, HostHistory, HostOutcome } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { addAuditEntry } from '../store/people.ts';
import { announce } from '../webhooks/deliver.ts';
import { type OrderFacts, type Orders, ordersOf, readAgentOf, skipDown } from './agents.ts';
import { type HostVerdict, judgeHost, refusalText } from './clones.rules.ts';

/** The answer to a check-in, with the field names of the protocol. */
export interface CheckInAnswer extends Orders {
  env: string;
  backend_id: string;
  production: boolean;
}

/** Dependencies of check-ins. */
export interface CheckInDependencies extends AuditDependencies {
  /** Holds the environments of a store that was restored. */
  readonly watch: { first: () => Promise<void> };
}

/** A check-in, with the token and the address of its call. */
interface CheckInCall {
  token: BearerIdentity;
  request: CheckInRequest;
  address: string;
}

/**
 * Stores the facts of a check-in durably and returns the host's orders. Throws 409 `HOST_CLONED` to a host that is not
 * the only one with its token, and stores none of its facts.
 */
export async function checkIn(deps: CheckInDependencies, call: CheckInCall): Promise<CheckInAnswer> {
  await deps.watch.first();
  const { token, request } = call;
  for (;;) {
    const agent = await readAgentOf(deps, { token, env: request.env }, 'check-in');
    const now = deps.clock();
    const verdict = judgeHost(knownHostsOf(agent), {
      host: request.host,
      address: call.address,
      generation: token.generation,
      now,
    });
    if (!verdict.isAccepted) {
      if (!(await keepRefusal(deps, agent, { verdict, now }))) continue;
      const message = refusalText(verdict, agent.id);
      throw new ApiError({ status: 409, code: tenancyErrorCodes.cloned, message, env: agent.env });
    }
    const facts = { checkIn: request, token, now, hosts: columnsOf(verdict, agent) };
    const kept =
      isPlain(agent, request) && verdict.event === null && verdict.clonedAt === agent.cloned_at
        ? await keep(deps.store, agent, facts)
        : await keepWithChanges(deps, agent, { ...facts, event: verdict.event });
    // Otherwise the backend changed concurrently: read its row again.
    if (kept !== null) return answerOf(deps.store, kept, request);
  }
}

/** The hosts that have used the token of a backend. */
function knownHostsOf({ hosts, cloned_at, last_seen_at, state }: AgentRow) {
  const history = hosts === null ? null : (JSON.parse(hosts) as HostHistory);
  return { history, clonedAt: cloned_at, seenAt: last_seen_at, isRetiring: state === 'retiring' };
}

function columnsOf({ history, clonedAt }: HostVerdict, { hosts }: AgentRow): Pick<BackendRow, 'hosts' | 'cloned_at'> {
  return { hosts: history === null ? hosts : JSON.stringify(history), cloned_at: clonedAt };
}

/**
 * Stores the sighting of a refused host; returns false if the backend has changed since it was read. In a conflict the
 * backend is not silent, but nobody knows what runs.
 */
function keepRefusal(
  deps: AuditDependencies,
  agent: AgentRow,
  { verdict, now }: { verdict: HostVerdict; now: number },
): Promise<boolean> {
  const hosts = columnsOf(verdict, agent);
  if (verdict.clonedAt === null) return recordRefusal(deps.store, agent, hosts);
  return deps.store.transaction().execute(async (work) => {
    const changed = await changeBackend(work, agent.id, {
      ...{ event: { type: 'CHECK_IN' }, now, columns: { ...hosts, last_seen_at: now } },
      when: ({ revision }) => revision === agent.revision,
    });
    if (changed === null) return false;
    const { env } = agent;
    if (changed.previous === 'offline') await announce(work, { type: 'backend.back', now, env, backend: changed });
    if (verdict.event !== 'cloned') return true;
    await announce(work, { type: 'backend.cloned', now, env, backend: changed, code: tenancyErrorCodes.cloned });
    await addAuditEntry(work, auditEntry(deps, byService('backend.cloned'), { target: agent.id, env }));
    return true;
  });
}

/** True for a check-in that changes only facts. Nearly all check-ins do. */
function isPlain(agent: AgentRow, request: CheckInRequest): boolean {
  return agent.state !== 'offline' && !concernsOthers(agent, request.swarm) && !beginsToDiffer(agent, request);
}

/** 1 if the settings of the host differ from the recorded ones of its environment; null if nothing was recorded. */
function differingOf({ expected }: AgentRow, request: CheckInRequest): number | null {
  const recorded = expectedByText(expected);
  return recorded === null ? null : Number(settingsDifference(request, recorded) !== null);
}

function beginsToDiffer(agent: AgentRow, request: CheckInRequest): boolean {
  return agent.differing !== 1 && differingOf(agent, request) === 1;
}

/** True if the other managers of a swarm must be considered too. */
function concernsOthers(agent: AgentRow, swarm?: ToldSwarm): boolean {
  return isMove(agent, swarm) || (agent.state === 'retiring' && swarm !== undefined);
}

/** Stores a check-in for a backend as it was read; returns null if the backend has changed since. */
async function keep(store: Store, agent: AgentRow, facts: CheckInFacts): Promise<AgentRow | null> {
  const { checkIn: request } = facts;
  const found = { outcome: await outcomeOf(store, agent, request), differing: differingOf(agent, request) };
  return (await recordCheckIn(store, agent, { ...facts, ...found })) ? agent : null;
}

/**
 * Like `keep`; also notifies operators of a host that was offline or has changed, and assigns the host to its swarm.
 */
function keepWithChanges(
  deps: AuditDependencies,
  agent: AgentRow,
  { event, ...facts }: CheckInFacts & Pick<HostVerdict, 'event'>,
): Promise<AgentRow | null> {
  return deps.store.transaction().execute(async (work) => {
    const { swarm } = facts.checkIn;
    const placed = concernsOthers(agent, swarm) ? await place(work, agent, swarm) : agent;
    if (placed === null || (await keep(work, placed, facts)) === null) return null;
    await announceChanges(work, agent, { event, now: facts.now, differs: beginsToDiffer(agent, facts.checkIn) });
    // Managers may have been added since its retirement began.
    return placed.state === 'retiring' && (await skipDown(deps, work, placed)) ? null : placed;
  });
}

/** Announces that the settings of a host begin to differ, that it is back, that it was rebooted or moved, or that a new kit has ended a conflict. */
async function announceChanges(
  work: Store,
  { id, env, state, cloned_at }: AgentRow,
  { event, now, differs }: { event: HostVerdict['event']; now: number; differs: boolean },
): Promise<void> {
  if (state !== 'offline' && event === null && cloned_at === null && !differs) return;
  const backend = await findBackend(work, id);
  if (backend === null) return;
  const told = { now, env, backend };
  if (state === 'offline') await announce(work, { ...told, type: 'backend.back' });
  if (cloned_at !== null) await announce(work, { ...told, type: 'backend.accepted' });
  if (event !== null) await announce(work, { ...told, type: 'backend.changed', code: event.toUpperCase() });
  if (differs) await announce(work, { ...told, type: 'backend.differs' });
}

/**
 * Assigns a backend to its swarm. The lock on the environment lets two managers that check in at once find each other.
 */
async function place(work: Store, { id, env }: AgentRow, swarm?: ToldSwarm): Promise<AgentRow | null> {
  await lockEnv(work, env);
  const current = await findAgent(work, id);
  if (current === null || !isMove(current, swarm)) return current;
  await placeInSwarm(work, current, swarm);
  return findAgent(work, id);
}

async function outcomeOf(store: Store, agent: AgentRow, request: CheckInRequest): Promise<HostOutcome | null> {
  const { rollout_sha, rollout_outcome, rollout_same_as: group } = agent;
  if (rollout_sha === null || rollout_outcome === null) return rollout_outcome;
  const { applied_sha, healthy } = request;
  const isOther = group !== null && applied_sha !== rollout_sha;
  const isKept = isOther && (await findKept(store, agent, { appliedSha: applied_sha, group })) !== null;
  const appliedSha = isKept ? rollout_sha : applied_sha;
  return outcomeAfterCheckIn(rollout_outcome, { appliedSha, healthy }, rollout_sha);
}

async function answerOf(store: Store, agent: AgentRow, request: CheckInRequest): Promise<CheckInAnswer> {
  const { id, env, production, state, purge_volumes } = agent;
  const { applied_sha: appliedSha, swarm } = request;
  const desired = await desiredBundle(store, agent, request);
  const isFollower = swarm?.leader === false;
  const isHeld = agent.held_since !== null;
  const orders = ordersOf({ state, purgeVolumes: purge_volumes === 1, isFollower, appliedSha, isHeld, desired });
  return { ...orders, env, backend_id: id, production: production === 1 };
}

/** The desired bundle of a host; null if there is none. */
async function desiredBundle(store: Store, agent: AgentRow, request: CheckInRequest): Promise<OrderFacts['desired']> {
  const { applied_sha: appliedSha } = request;
  const { desired_sha, rollout_sha, rollout_state, rollout_same_as } = agent;
  if (rollout_same_as !== null && rollout_sha !== appliedSha) {
    const kept = await findKept(store, agent, { appliedSha, group: rollout_same_as });
    if (kept !== null) return orderOf(kept);
  }
  const joined = rollout_sha === null || rollout_state === null ? null : { sha256: rollout_sha, state: rollout_state };
  const sha256 = desiredShaOf({ envSha: desired_sha, joined, appliedSha });
  const [sizeBytes, emergency, group, returnsTo] =
    sha256 === rollout_sha
      ? [agent.rollout_size, agent.rollout_emergency, agent.rollout_same_as, agent.rollout_returns_to]
      : [agent.desired_size, agent.desired_emergency, agent.desired_same_as, agent.desired_returns_to];
  if (sha256 === null || sizeBytes === null) return null;
  const isOther = sha256 !== appliedSha;
  const same = isOther && group !== null ? await findKept(store, agent, { appliedSha, group }) : null;
  const kept = same ?? (isOther && returnsTo !== null ? await findDenied(store, agent, { request, returnsTo }) : null);
  return kept === null ? { sha256, sizeBytes, emergency: emergency === 1 } : orderOf(kept);
}

/**
 * The bundle that a host keeps because its policy denies a return to older content; null otherwise. One denying manager
 * decides for its swarm.
 */
async function findDenied(
  store: Store,
  agent: AgentRow,
  { request, returnsTo }: { request: CheckInRequest; returnsTo: number },
): Promise<BundleRow | null> {
  const managers = agent.swarm_id === null ? [] : await listManagers(store, agent);
  const others = managers.filter(({ id }) => id !== agent.id);
  const told = others.flatMap(({ check_in }) => (check_in === null ? [] : [JSON.parse(check_in) as CheckInRequest]));
  const [sha256 = null] = [request, ...told].flatMap(({ applied_sha }) => applied_sha ?? []);
  if (sha256 === null || ![request, ...told].some(deniesRollback)) return null;
  const bundle = await findBundle(store, sha256);
  return bundle !== null && contentSequence(bundle) > returnsTo ? bundle : null;
}

function orderOf({ sha256, size_bytes: sizeBytes, emergency }: BundleRow): OrderFacts['desired'] {
  return { sha256, sizeBytes, emergency: emergency === 1 };
}

/**
 * The bundle that a host runs, if it belongs to the group of the desired one and need not be replaced; null otherwise.
 * The managers of a swarm have one desired bundle: they keep theirs only if all run the same.
 */
async function findKept(
  store: Store,
  agent: AgentRow,
  { appliedSha, group }: { appliedSha: string | null; group: string },
): Promise<BundleRow | null> {
  const managers = agent.swarm_id === null ? [] : await listManagers(store, agent);
  const others = managers.filter(({ id }) => id !== agent.id).map(({ applied_sha }) => applied_sha);
  const [sha256, ...more] = new Set([appliedSha, ...others].filter((sha) => sha !== null));
  const bundle = sha256 === undefined || more.length > 0 ? null : await findBundle(store, sha256);
  return bundle !== null && groupOf(bundle) === group ? bundle : null;
}
