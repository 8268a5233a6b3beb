import { failedFault, type Fault } from '../../../../machines/fault.ts';
import type { Finding } from '../../../core/doctor.rules.ts';
import { printable } from '../../../core/text.rules.ts';

/** What an engine says of its place in a swarm. */
export interface SwarmMembership {
  NodeID: string;
  /** Of a manager. */
  Cluster?: { ID: string };
  /** `inactive` outside a swarm, `active` in one; `locked`, `pending` and `error` on the way. */
  LocalNodeState: string;
  /** True on a manager. */
  ControlAvailable: boolean;
  /** Why this manager cannot ask the swarm; empty if it can. */
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

/** True for an engine that is in no swarm, nor on the way into one. */
export function isOutside({ LocalNodeState }: SwarmMembership): boolean {
  return LocalNodeState === 'inactive';
}

/** Why an agent on this node can neither act nor tell who does, with what to do; null where it can. */
export function membershipTrouble(membership: SwarmMembership): Finding | null {
  const { NodeID, LocalNodeState, ControlAvailable, Error: trouble } = membership;
  if (LocalNodeState !== 'active')
    return {
      problem: `this engine is in no swarm (${printable(LocalNodeState)})`,
      fix: 'make it a manager of the swarm with docker swarm join',
    };
  if (!ControlAvailable)
    return {
      problem: 'this node is no manager of its swarm',
      fix: `run docker node promote ${printable(NodeID)} on a manager, or end the agent of this node`,
    };
  return trouble === '' ? null : noLeader;
}

/** The same as the fault RUNTIME_UNAVAILABLE. */
export function membershipFault(membership: SwarmMembership): Fault | null {
  const trouble = membershipTrouble(membership);
  return trouble === null ? null : faultOf(trouble);
}

/** The name of the node that acts in place of this one; null when this one leads. Throws when none leads. */
export function leaderInstead({ NodeID }: Pick<SwarmMembership, 'NodeID'>, nodes: readonly SwarmNode[]): string | null {
  const leader = nodes.find(({ ManagerStatus }) => ManagerStatus?.Leader === true);
  if (leader === undefined) throw faultOf(noLeader);
  return leader.ID === NodeID ? null : printable(leader.Description.Hostname);
}

/** The fault of a manager that answers so, because the swarm has no leader; null for other answers. */
export function noLeaderFault(answer: string): Fault | null {
  return /does not have a leader|rpc error: .*context deadline exceeded/.test(answer) ? faultOf(noLeader) : null;
}

const noLeader: Finding = {
  problem: 'the swarm has no leader',
  fix: 'start managers until more than half of them answer (docker node ls). What runs goes on meanwhile',
};

function faultOf({ problem, fix }: Finding): Fault {
  return failedFault('RUNTIME_UNAVAILABLE', `${problem}; ${fix}`);
}
