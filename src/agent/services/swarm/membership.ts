import type { ObservedState } from '../../../../machines/types.ts';
import { leaderInstead, membershipFault } from '../../rules/swarm/leadership.ts';
import type { SwarmDependencies } from './stackFacts.ts';

/** The swarm of this node, and the manager that acts in place of it, after this host has copied what the managers share. */
export async function membership(context: SwarmDependencies): Promise<Pick<ObservedState, 'leader' | 'swarm'>> {
  const { deps, swarm, state } = context;
  const found = await swarm.membership();
  const fault = membershipFault(found);
  if (fault !== null) throw fault;
  const { NodeID, Cluster } = found;
  const leader = leaderInstead(found, await swarm.nodes());
  const before = deps.state.state.applied_sha;
  await state.follow({ node: NodeID, acts: leader === null });
  if (before !== null && deps.state.state.applied_sha === null) await forgetSecrets(deps);
  return { leader, swarm: { id: Cluster?.ID ?? '', node: NodeID } };
}

/** After a `down` by another manager no release keeps values of secrets here either (spec §7). */
async function forgetSecrets({ releases }: SwarmDependencies['deps']): Promise<void> {
  for (const sha of await releases.list()) await releases.stripEnv(sha);
  await releases.current.remove();
}
