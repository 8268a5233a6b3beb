import type { CheckInRequest } from '../../../protocol/checkIn.ts';
import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { ordersOf, type Orders } from '../../rules/orders.ts';
import { recordCheckIn, type AgentRow } from '../../store/agents.ts';
import type { Dependencies } from '../dependencies.ts';
import { readAgentOf } from './agent.ts';

/** Answer to a check-in, with the fields of the protocol. */
export interface CheckInAnswer extends Orders {
  env: string;
  backend_id: string;
  production: boolean;
}

/** Keeps what a host tells of itself, durably, and tells it what to do. */
export async function checkIn(
  deps: Dependencies,
  { token, request }: { token: BearerIdentity; request: CheckInRequest },
): Promise<CheckInAnswer> {
  for (;;) {
    const agent = await readAgentOf(deps, { token, env: request.env }, 'check-in');
    const isKept = await recordCheckIn(deps.store, agent, { checkIn: request, token, now: deps.clock() });
    // Otherwise something else has changed the backend in between, and its row is judged anew.
    if (isKept) return answerOf(agent, request.applied_sha);
  }
}

function answerOf(agent: AgentRow, appliedSha: string | null): CheckInAnswer {
  const { id, env, production, state, purge_volumes, desired_sha, desired_size } = agent;
  const desired =
    desired_sha === null || desired_size === null ? null : { sha256: desired_sha, sizeBytes: desired_size };
  const orders = ordersOf({ state, purgeVolumes: purge_volumes === 1, appliedSha, desired });
  return { ...orders, env, backend_id: id, production: production === 1 };
}
