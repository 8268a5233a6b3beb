import type { RolloutState } from '../../../../machines/rollout.ts';

/** What decides which bundle is desired of a host; digests. */
export interface DesiredFacts {
  /** Desired in its env; null for nothing. */
  envSha: string | null;
  /** The bundle of the rollout of the env, which a wave has brought to the host; null for none. */
  joined: { sha256: string; state: RolloutState } | null;
  appliedSha: string | null;
}

/** Which bundle is desired of a host: while a rollout is halted, its bundle only where it runs already. */
export function desiredShaOf({ envSha, joined, appliedSha }: DesiredFacts): string | null {
  if (joined === null) return envSha;
  return joined.state !== 'halted' || joined.sha256 === appliedSha ? joined.sha256 : envSha;
}
