import type { CheckInRequest, ToldSwarm } from '../../api/checkIn.rules.ts';
import type { AuditDependencies } from '../core/audit.ts';
import type { BearerIdentity } from '../keys/bearerCache.ts';
import { desiredShaOf, outcomeAfterCheckIn } from '../rollouts/rollout.rules.ts';
import { type AgentRow, type CheckInFacts, findAgent, recordCheckIn } from '../store/agents.ts';
import { findBackend, isMove, placeInSwarm } from '../store/backends.ts';
import type { HostOutcome } from '../store/database.ts';
import { lockEnv } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import { announce } from '../webhooks/deliver.ts';
import { type OrderFacts, type Orders, ordersOf, readAgentOf, skipDown } from './agents.ts';

/** The answer to a check-in, with the field names of the protocol. */
export interface CheckInAnswer extends Orders {
  env: string;
  backend_id: string;
  production: boolean;
}

/** Stores the facts of a check-in durably and returns the host's orders. */
export async function checkIn(
  deps: AuditDependencies,
  { token, request }: { token: BearerIdentity; request: CheckInRequest },
): Promise<CheckInAnswer> {
  for (;;) {
    const agent = await readAgentOf(deps, { token, env: request.env }, 'check-in');
    const facts = { checkIn: request, token, now: deps.clock() };
    const kept = isPlain(agent, request)
      ? await keep(deps.store, agent, facts)
      : await keepWithChanges(deps, agent, facts);
    // Otherwise the backend changed concurrently: read its row again.
    if (kept !== null) return answerOf(kept, request);
  }
}

/** True for a check-in that changes only facts. Nearly all check-ins do. */
function isPlain(agent: AgentRow, { swarm }: CheckInRequest): boolean {
  return agent.state !== 'offline' && !concernsOthers(agent, swarm);
}

/** True if the other managers of a swarm must be considered too. */
function concernsOthers(agent: AgentRow, swarm?: ToldSwarm): boolean {
  return isMove(agent, swarm) || (agent.state === 'retiring' && swarm !== undefined);
}

/** Stores a check-in for a backend as it was read; returns null if the backend has changed since. */
async function keep(store: Store, agent: AgentRow, facts: CheckInFacts): Promise<AgentRow | null> {
  const outcome = outcomeOf(agent, facts.checkIn);
  return (await recordCheckIn(store, agent, { ...facts, outcome })) ? agent : null;
}

/** Like `keep`; also notifies operators of a host that was offline, and assigns the host to its swarm. */
function keepWithChanges(deps: AuditDependencies, agent: AgentRow, facts: CheckInFacts): Promise<AgentRow | null> {
  return deps.store.transaction().execute(async (work) => {
    const { swarm } = facts.checkIn;
    const placed = concernsOthers(agent, swarm) ? await place(work, agent, swarm) : agent;
    if (placed === null || (await keep(work, placed, facts)) === null) return null;
    const backend = agent.state === 'offline' ? await findBackend(work, agent.id) : null;
    if (backend !== null) await announce(work, { type: 'backend.back', now: facts.now, env: agent.env, backend });
    // Managers may have been added since its retirement began.
    return placed.state === 'retiring' && (await skipDown(deps, work, placed)) ? null : placed;
  });
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

function outcomeOf({ rollout_sha, rollout_outcome }: AgentRow, request: CheckInRequest): HostOutcome | null {
  if (rollout_sha === null || rollout_outcome === null) return rollout_outcome;
  const { applied_sha: appliedSha, healthy } = request;
  return outcomeAfterCheckIn(rollout_outcome, { appliedSha, healthy }, rollout_sha);
}

function answerOf(agent: AgentRow, { applied_sha: appliedSha, swarm }: CheckInRequest): CheckInAnswer {
  const { id, env, production, state, purge_volumes } = agent;
  const desired = desiredBundle(agent, appliedSha);
  const isFollower = swarm?.leader === false;
  const orders = ordersOf({ state, purgeVolumes: purge_volumes === 1, isFollower, appliedSha, desired });
  return { ...orders, env, backend_id: id, production: production === 1 };
}

/** The desired bundle of a host; null if there is none. */
function desiredBundle(agent: AgentRow, appliedSha: string | null): OrderFacts['desired'] {
  const { desired_sha, rollout_sha, rollout_state } = agent;
  const joined = rollout_sha === null || rollout_state === null ? null : { sha256: rollout_sha, state: rollout_state };
  const sha256 = desiredShaOf({ envSha: desired_sha, joined, appliedSha });
  const [sizeBytes, emergency] =
    sha256 === rollout_sha
      ? [agent.rollout_size, agent.rollout_emergency]
      : [agent.desired_size, agent.desired_emergency];
  return sha256 === null || sizeBytes === null ? null : { sha256, sizeBytes, emergency: emergency === 1 };
}
