import { leaderInstead, membershipFault } from '../../rules/swarm/leadership.ts';
import type { SwarmDependencies } from './stackFacts.ts';

/** The manager that acts in place of this node, null for this one, after this host has copied what the managers share. */
export async function leader({ deps, swarm, state }: SwarmDependencies): Promise<string | null> {
  const membership = await swarm.membership();
  const fault = membershipFault(membership);
  if (fault !== null) throw fault;
  const instead = leaderInstead(membership, await swarm.nodes());
  const before = deps.state.state.applied_sha;
  await state.follow({ node: membership.NodeID, acts: instead === null });
  if (before !== null && deps.state.state.applied_sha === null) await forgetSecrets(deps);
  return instead;
}

/** After a `down` by another manager no release keeps values of secrets here either (spec §7). */
async function forgetSecrets({ releases }: SwarmDependencies['deps']): Promise<void> {
  for (const sha of await releases.list()) await releases.stripEnv(sha);
  await releases.current.remove();
}
