import type { BackendState, Env } from '../api/types.ts';

/** The states that a fleet is counted by, in the order of a backend's life; retired ones are history. */
export const countedStates: readonly BackendState[] = [
  'created',
  'invited',
  'active',
  'offline',
  'retiring',
  'finishing',
];

/** Number of backends by state, over some envs. */
export function countByState(envs: readonly Pick<Env, 'backends'>[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { backends } of envs)
    for (const [state, count] of Object.entries(backends)) counts[state] = (counts[state] ?? 0) + count;
  return counts;
}

/** Backends that are not retired. */
export function countPresent(counts: Record<string, number>): number {
  return countedStates.reduce((sum, state) => sum + (counts[state] ?? 0), 0);
}
