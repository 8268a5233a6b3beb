import { defaultPolicy, type HostPolicy } from '../protocol/hostPolicy.ts';
import { anyHost, type OrchestratorName } from './rules/compose/policy/policyHost.ts';
import { abortedPlan, noHost, planOf, type BundleFacts, type Plan } from './rules/plan/plan.ts';
import type { ReadBundle } from './bundleAt.ts';
import { bundleFactsOf } from './readBundle.ts';

/** Plans a bundle from its files alone, as for a host with this policy. Throws Fault `stopped` on abort. */
export async function planAlone(
  bundle: ReadBundle,
  signal: AbortSignal,
  policy: HostPolicy = defaultPolicy,
): Promise<Plan> {
  if ('refusal' in bundle) return abortedPlan([bundle.refusal], bundle.sha);
  return planFor(await bundleFactsOf(bundle, signal), policy);
}

/** Plans a bundle that was read, as for a host with this policy and orchestrator. */
export function planFor(bundle: BundleFacts, policy: HostPolicy, orchestrator: OrchestratorName = 'compose'): Plan {
  return planOf(bundle, { ...noHost, policyHost: { ...anyHost, orchestrator, policy } });
}
