import { parseReleaseRecord, type ReleaseRecord } from '../release/record.rules.ts';
import { emptyState, isInvalidState, parseState, type State } from '../state/state.rules.ts';

/** What `state.json` says of the stack, and not of this host alone. */
const sharedFields = [
  'applied_sha',
  'applied_at',
  'applied_version',
  'applied_signers',
  'applied_images',
  'highest_sequence',
  'production',
  'production_unknown',
  'attempt',
  'failing',
] as const satisfies (keyof State)[];

export type SharedFacts = Pick<State, (typeof sharedFields)[number]>;

/** What all managers of a swarm must agree upon; `state.json` of each is a copy of its facts. */
export interface SwarmState {
  facts: SharedFacts;
  /** Id of the node whose agent wrote this, and whose attempt it is; '' before the first. */
  node: string;
  /** The record of the applied release, by which each manager knows what is to run; null when none is applied. */
  record: ReleaseRecord | null;
}

/** The state of a swarm on which nothing was ever applied. */
export function emptySwarmState(env: string): SwarmState {
  return { facts: sharedFactsOf(emptyState(env)), node: '', record: null };
}

/** The part of the state that the managers share. */
export function sharedFactsOf(state: Readonly<State>): SharedFacts {
  return Object.fromEntries(sharedFields.map((field) => [field, state[field]])) as SharedFacts;
}

/** Parses what the swarm keeps for an env; null when it is no state. */
export function parseSwarmState(text: string, env: string): SwarmState | null {
  const { facts, node, record } = (jsonOf(text) ?? {}) as Record<string, unknown>;
  if (facts === undefined || typeof node !== 'string' || record === undefined) return null;
  const state = parseState(JSON.stringify({ ...emptyState(env), ...(facts as object) }));
  const parsedRecord = parseReleaseRecord(JSON.stringify(record));
  if (isInvalidState(state) || (record !== null && parsedRecord === null)) return null;
  return { facts: sharedFactsOf(state), node, record: parsedRecord };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
