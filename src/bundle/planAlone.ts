import { abortedPlan, noHost, planOf, type Plan } from './rules/plan/plan.ts';
import type { ReadBundle } from './bundleAt.ts';
import { bundleFactsOf } from './readBundle.ts';

/** Plans a bundle from its files alone, without a host. Throws Fault `stopped` on abort. */
export async function planAlone(bundle: ReadBundle, signal: AbortSignal): Promise<Plan> {
  if ('refusal' in bundle) return abortedPlan([bundle.refusal], bundle.sha);
  return planOf(await bundleFactsOf(bundle, signal), noHost);
}
