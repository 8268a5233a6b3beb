import type { BearerIdentity } from '../../credentials/bearerCache.ts';
import { isAccepted, type AgentCall } from '../../rules/agentAccess.ts';
import { findAgent, type AgentRow } from '../../store/agents.ts';
import { ApiError } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';
import { tenancyErrorCodes } from '../../../protocol/tenancyErrorCodes.ts';

/** The answer to a bearer that is no (longer) accepted from a host. */
export function agentUnauthenticated(): ApiError {
  return new ApiError({ status: 401, code: 'AGENT_UNAUTHENTICATED', message: 'bearer refused' });
}

/** Reads the backend that calls, anew at each call; throws 401 unless its token is accepted for the call. */
export async function readAgent(deps: Dependencies, token: BearerIdentity, call: AgentCall): Promise<AgentRow> {
  const backend = await findAgent(deps.store, token.backendId);
  if (backend === null || !isAccepted({ backend, token }, call)) throw agentUnauthenticated();
  return backend;
}

/** As `readAgent`; throws 409 if the body names another env than that of the backend. */
export async function readAgentOf(
  deps: Dependencies,
  { token, env }: { token: BearerIdentity; env: string },
  call: AgentCall,
): Promise<AgentRow> {
  const agent = await readAgent(deps, token, call);
  if (agent.env === env) return agent;
  throw new ApiError({
    status: 409,
    code: tenancyErrorCodes.envMismatch,
    message: `the bearer belongs to the env ${agent.env}`,
  });
}
