import { parseReleaseRecord, type ReleaseRecord } from '../release/record.rules.ts';
import { emptyState, isInvalidState, parseState, type State } from '../state/state.rules.ts';

/** The parts of `state.json` that describe the stack, and not only this host. */
const sharedFields = [
  'applied_sha',
  'applied_at',
  'applied_version',
  'applied_signers',
  'applied_images',
  'highest_sequence',
  'highest_sha',
  'production',
  'production_unknown',
  'attempt',
  'failing',
] as const satisfies (keyof State)[];

export type SharedFacts = Pick<State, (typeof sharedFields)[number]>;

/** The shared state of all managers of a swarm; `state.json` of each is a copy of its facts. */
export interface SwarmState {
  facts: SharedFacts;
  /** Id of the node whose agent wrote this, and that owns the attempt; '' before the first. */
  node: string;
  /**
   * The record of the applied release, from which each manager knows the services that should run; null when no release
   * is applied.
   */
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

/** Parses the stored state of an environment; null when it is invalid. */
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
