import { parseReleaseRecord, type ReleaseRecord } from '../release/record.rules.ts';
import { emptyState, isInvalidState, parseState, type State } from '../state/state.rules.ts';
import type { Fault } from '../../../machines/fault.ts';
import type { Finding } from '../../core/doctor.rules.ts';
import { asRecord, parseJson } from '../../core/json.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { unavailableFault, noLeader } from '../engine/engineAnswer.rules.ts';

/** The parts of `state.json` that describe the stack, and not only this host. */
const sharedFields = [
  'applied_sha',
  'applied_at',
  'applied_version',
  'applied_signers',
  'applied_root',
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
  const { facts, node, record } = asRecord(parseJson(text));
  if (facts === undefined || typeof node !== 'string' || record === undefined) return null;
  const state = parseState(JSON.stringify({ ...emptyState(env), ...(facts as object) }));
  const parsedRecord = parseReleaseRecord(JSON.stringify(record));
  if (isInvalidState(state) || (record !== null && parsedRecord === null)) return null;
  return { facts: sharedFactsOf(state), node, record: parsedRecord };
}

/** The engine's description of its place in a swarm. */
export interface SwarmMembership {
  NodeID: string;
  /** Only set for a manager. */
  Cluster?: { ID: string };
  /** `inactive` outside a swarm, `active` in one; `locked`, `pending` and `error` in between. */
  LocalNodeState: string;
  /** True on a manager. */
  ControlAvailable: boolean;
  /** Why this manager cannot query the swarm; empty if it can. */
  Error: string;
}

/** A node of a swarm. */
export interface SwarmNode {
  ID: string;
  Description: { Hostname: string };
  /** Whether it answers: `ready`, `down` … */
  Status?: { State: string };
  /** Whether it takes tasks: `active`, `pause`, `drain`. */
  Spec?: { Availability: string };
  /** Only of a manager. */
  ManagerStatus?: { Leader?: boolean };
}

/** True for an engine that is neither in a swarm nor joining one. */
export function isOutside({ LocalNodeState }: SwarmMembership): boolean {
  return LocalNodeState === 'inactive';
}

/** Why an agent on this node can neither act nor name the acting node, with the fix; null if it can. */
export function membershipTrouble(membership: SwarmMembership): Finding | null {
  const { NodeID, LocalNodeState, ControlAvailable, Error: trouble } = membership;
  if (LocalNodeState !== 'active')
    return {
      problem: `this engine is in no swarm (${printable(LocalNodeState)})`,
      fix: 'make it a manager of the swarm with docker swarm join',
    };
  if (!ControlAvailable)
    return {
      problem: 'this node is not a manager of its swarm',
      fix: `run docker node promote ${printable(NodeID)} on a manager, or end the agent of this node`,
    };
  return trouble === '' ? null : noLeader;
}

/** The same as the fault RUNTIME_UNAVAILABLE. */
export function membershipFault(membership: SwarmMembership): Fault | null {
  const trouble = membershipTrouble(membership);
  return trouble === null ? null : unavailableFault(trouble);
}

/**
 * The name of the node that acts instead of this one; null when this node is the leader. Throws when there is no
 * leader.
 */
export function leaderInstead({ NodeID }: Pick<SwarmMembership, 'NodeID'>, nodes: readonly SwarmNode[]): string | null {
  const leader = nodes.find(({ ManagerStatus }) => ManagerStatus?.Leader === true);
  if (leader === undefined) throw unavailableFault(noLeader);
  return leader.ID === NodeID ? null : printable(leader.Description.Hostname);
}
