import type { BackendState } from '../../../machines/backend.ts';

/** Calls of an agent, as far as they differ in who may make them. */
export type AgentCall = 'check-in' | 'bundle' | 'lease' | 'report';

/** What is compared: the backend's row, and the metadata of the token that the call came with. */
export interface AccessFacts {
  backend: { state: BackendState; generation: number; oldest_generation: number; env: string };
  token: { generation: number; env: string };
}

const liveStates: readonly BackendState[] = ['invited', 'active', 'offline', 'retiring'];

/**
 * True if a token is of a generation that is not superseded, and its backend is one that hosts speak for. While a
 * retirement finishes, a host may still deliver the reports that it has kept.
 */
export function isAccepted({ backend, token }: AccessFacts, call: AgentCall): boolean {
  if (token.generation < backend.oldest_generation || token.generation > backend.generation) return false;
  if (token.env !== backend.env) return false;
  return liveStates.includes(backend.state) || (backend.state === 'finishing' && call === 'report');
}
