import type { BackendState, EnvCounts } from '../api/types.ts';

/** States that a backend leaves soon, in the order of its life. */
export const passingStates: readonly BackendState[] = ['created', 'invited', 'retiring', 'finishing'];

/** Number of backends by state, over some envs. */
export function countByState(envs: readonly Pick<EnvCounts, 'backends'>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { backends } of envs)
    for (const [state, count] of Object.entries(backends)) counts[state] = (counts[state] ?? 0) + count;
  return counts;
}

/** Backends that are not retired. */
export function countPresent(counts: Record<string, number>): number {
  return Object.entries(counts).reduce((sum, [state, count]) => (state === 'retired' ? sum : sum + count), 0);
}
