import { failedFault } from '../../../../machines/fault.ts';
import { openSwarm } from '../../adapters/swarm/openSwarm.ts';
import { membershipFault } from '../../rules/swarm/leadership.ts';
import type { Vault } from '../../secrets/vault.ts';
import type { ObserverDependencies } from '../dependencies.ts';
import type { Observation } from '../orchestrator.ts';
import { observe } from './observe.ts';

/**
 * Looks at the tasks of the stack on all nodes, by the record that the managers share. Every manager can, not only the leader.
 * Throws `RUNTIME_UNAVAILABLE` on a node that is no manager, and while this host does not know what the others have applied.
 */
export async function lookAtStack(
  deps: ObserverDependencies,
  { vault, signal }: { vault: Vault; signal: AbortSignal },
): Promise<Observation> {
  const { settings, project, state } = deps;
  const { swarm, facts } = openSwarm({ settings, project, vault, signal });
  const fault = membershipFault(await swarm.membership());
  if (fault !== null) throw fault;
  const { facts: shared, record } = (await facts.readState()).state;
  const sha = shared.applied_sha;
  if (sha !== state.state.applied_sha) throw failedFault('RUNTIME_UNAVAILABLE', changedMeanwhile(sha));
  return observe({ deps, swarm, state: { record } }, sha === null ? null : { sha, services: record?.services ?? [] });
}

function changedMeanwhile(sha: string | null): string {
  return `another manager of the swarm has applied ${sha ?? 'nothing'}; the next tick of this node follows`;
}
