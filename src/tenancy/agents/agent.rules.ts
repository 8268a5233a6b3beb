import type { BackendState } from '../../../machines/backend.ts';

/** Calls of an agent, as far as they differ in who may make them. */
export type AgentCall = 'check-in' | 'bundle' | 'lease' | 'report';

/** What is compared: the backend's row, and the metadata of the token that the call came with. */
interface AccessFacts {
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

/** What orders follow from; sizes in bytes. */
export interface OrderFacts {
  state: BackendState;
  purgeVolumes: boolean;
  /** Another manager of its swarm leads, and takes down what all of them run. */
  isFollower: boolean;
  appliedSha: string | null;
  /** The bundle that is desired in the env; null if there is none. */
  desired: { sha256: string; sizeBytes: number; emergency: boolean } | null;
}

/** What a host is told to do. */
export interface Orders {
  action: 'apply' | 'none' | 'down';
  desired_sha: string | null;
  bundle?: { sha256: string; size_bytes: number; emergency?: true };
  purge_volumes?: boolean;
}

/** What a host does next: a retirement goes before everything, then its content follows what is desired in its env. */
export function ordersOf({ state, purgeVolumes, isFollower, appliedSha, desired }: OrderFacts): Orders {
  if (state === 'retiring' && isFollower) return { action: 'none', desired_sha: null };
  if (state === 'retiring') return { action: 'down', desired_sha: null, purge_volumes: purgeVolumes };
  const desired_sha = desired?.sha256 ?? null;
  if (desired === null || desired_sha === appliedSha) return { action: 'none', desired_sha };
  const { sha256, sizeBytes: size_bytes, emergency } = desired;
  return { action: 'apply', desired_sha, bundle: { sha256, size_bytes, ...(emergency && { emergency }) } };
}
