import type { BackendState } from '../../../machines/backend.ts';

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
