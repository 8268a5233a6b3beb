import { type Check, checkResult, type Finding } from '../../../core/doctor.rules.ts';
import { leaderInstead, membershipTrouble, type SwarmMembership, type SwarmNode } from '../swarm/leadership.ts';

/** What an engine tells of its swarm, and whether stacks can be deployed. */
export interface SwarmCheckFacts {
  membership: SwarmMembership;
  /** Every node of the swarm; none where it cannot be asked. */
  nodes: readonly SwarmNode[];
  /** Why `docker` does not run; null when it does. */
  dockerError: string | null;
}

/** Checks that the agent on this node can act, or tell which one does. */
export function checkSwarm({ membership, nodes, dockerError }: SwarmCheckFacts): Check {
  const trouble = membershipTrouble(membership);
  const findings: Finding[] = trouble === null ? [] : [trouble];
  if (dockerError !== null)
    findings.push({ problem: `stacks cannot be deployed: ${dockerError}`, fix: 'sudo apt-get install docker-cli' });
  return checkResult('swarm', trouble === null ? describe(membership, nodes) : 'no leader is known', findings);
}

function describe(membership: SwarmMembership, nodes: readonly SwarmNode[]): string {
  const managers = nodes.filter(({ ManagerStatus }) => ManagerStatus !== undefined).length;
  const leader = leaderInstead(membership, nodes) ?? 'this node';
  return `${leader} leads ${nodes.length} nodes, of which ${managers} are managers`;
}
