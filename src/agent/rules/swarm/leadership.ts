import { failedFault, type Fault } from '../../../../machines/fault.ts';
import { printable } from '../../../protocol/printable.ts';

/** What an engine says of its place in a swarm. */
export interface SwarmMembership {
  NodeID: string;
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
  /** Only of a manager. */
  ManagerStatus?: { Leader?: boolean };
}

/** Why an agent on this node can neither act nor tell who does, with what to do; null where it can. */
export function membershipFault({
  NodeID,
  LocalNodeState,
  ControlAvailable,
  Error: trouble,
}: SwarmMembership): Fault | null {
  if (LocalNodeState !== 'active')
    return unavailable(
      `this engine is in no swarm (${printable(LocalNodeState)}); make it a manager of the swarm with docker swarm join`,
    );
  if (!ControlAvailable)
    return unavailable(
      `this node is no manager of its swarm; run docker node promote ${printable(NodeID)} on a manager, or end the agent of this node`,
    );
  return trouble === '' ? null : noLeaderFault();
}

/** The name of the node that acts in place of this one; null when this one leads. Throws when none leads. */
export function leaderInstead({ NodeID }: Pick<SwarmMembership, 'NodeID'>, nodes: readonly SwarmNode[]): string | null {
  const leader = nodes.find(({ ManagerStatus }) => ManagerStatus?.Leader === true);
  if (leader === undefined) throw noLeaderFault();
  return leader.ID === NodeID ? null : printable(leader.Description.Hostname);
}

function noLeaderFault(): Fault {
  return unavailable(
    'the swarm has no leader; start managers until more than half of them answer (docker node ls). What runs goes on meanwhile',
  );
}

function unavailable(detail: string): Fault {
  return failedFault('RUNTIME_UNAVAILABLE', detail);
}
