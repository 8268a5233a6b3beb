import type { Sha } from '../../../../machines/types.ts';
import type { FailingBundle } from '../schedule/retryBackoff.ts';
import type { State } from '../state/state.ts';
import { validate } from './swarmStateValidator.ts';

/** An apply that a manager has claimed. */
export interface ClaimedAttempt extends NonNullable<State['attempt']> {
  /** Id of the node whose agent acts. */
  node: string;
  /** Rises with each claim, so that an older one is known by it. */
  claim: number;
}

/** What all managers of a swarm must agree upon; `state.json` of each is a copy. */
export interface SwarmState {
  applied_sha: Sha | null;
  highest_sequence: number;
  attempt: ClaimedAttempt | null;
  failing: FailingBundle | null;
}

/** The state of a swarm on which nothing was ever applied. */
export const emptySwarmState: SwarmState = { applied_sha: null, highest_sequence: 0, attempt: null, failing: null };

/** Parses what the swarm keeps; null when it is no state. */
export function parseSwarmState(text: string): SwarmState | null {
  try {
    const value: unknown = JSON.parse(text);
    return validate(value) ? (value as SwarmState) : null;
  } catch {
    return null;
  }
}
