import type { ObservedState } from '../../../../machines/types.ts';
import { isOutside, leaderInstead, membershipFault } from '../../rules/swarm/leadership.ts';
import { isSameRecord } from '../../rules/release/releaseRecord.ts';
import type { SwarmDependencies } from './stackFacts.ts';

/** The swarm of this node, and the manager that acts in place of it, after this host has copied what the managers share. */
export async function membership(context: SwarmDependencies): Promise<Pick<ObservedState, 'leader' | 'swarm'>> {
  const { swarm, state } = context;
  const found = await swarm.membership();
  if (isOutside(found)) await state.update({ swarm: null });
  const fault = membershipFault(found);
  if (fault !== null) throw fault;
  const { NodeID, Cluster } = found;
  const own = { id: Cluster?.ID ?? '', node: NodeID };
  await state.update({ swarm: own });
  const leader = leaderInstead(found, await swarm.nodes());
  await state.follow({ node: NodeID, acts: leader === null });
  await forgetSecrets(context, leader === null);
  return { leader, swarm: own };
}

/**
 * Removes values of secrets that another manager has applied anew or taken down. A manager that does not act keeps those of
 * the applied release alone, which it may have to start again; the one that acts keeps those of its attempt, with the way back
 * from it.
 */
async function forgetSecrets({ deps, state }: SwarmDependencies, acts: boolean): Promise<void> {
  const { releases } = deps;
  const { applied_sha, attempt } = state.state;
  for (const sha of await releases.list()) {
    if (acts && sha === attempt?.sha) continue;
    const isCurrent = sha === applied_sha ? isSameRecord(await releases.readRecord(sha), state.record) : acts;
    if (!isCurrent && (await releases.hasEnv(sha))) await releases.stripEnv(sha);
  }
  if (!acts && applied_sha === null) await releases.current.remove();
}
