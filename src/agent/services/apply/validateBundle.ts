import { refusedFault } from '../../../../machines/fault.ts';
import { formatFault, type Refusal } from '../../../../machines/refusals.ts';
import type { Bundle, DesiredState } from '../../../../machines/types.ts';
import type { Dependencies } from '../dependencies.ts';
import { planBundle } from './bundlePlan.ts';
import { tellRemarks } from './remarks.ts';
import { bundleContentsOf } from './unpack.ts';

/** Only who made the bundle, and has signed it, can say so. */
const noEmergency: Refusal = {
  code: 'MANIFEST_INVALID',
  detail: 'agent.emergency: is not true, though the bundle is announced as an emergency',
};

/** Runs every refusal check that needs no secrets and throws all refusals together (spec §9). */
export async function validateBundle(
  deps: Dependencies,
  { bundle, desired }: { bundle: Bundle; desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  try {
    const contents = bundleContentsOf(deps);
    const host = { ...deps, state: { known: deps.state.state }, production: desired.production };
    const { plan, engineFault, isApplied } = await planBundle({ ...bundle, contents }, host, signal);
    deps.tick.isAppliedContent = isApplied;
    const refusals = desired.emergency && bundle.manifest.agent.emergency !== true ? [noEmergency] : [];
    if (refusals.length + plan.refusals.length > 0) throw refusedFault([...refusals, ...plan.refusals]);
    if (engineFault !== null) throw engineFault;
    for (const fault of plan.warnings) deps.tick.journal.warn(`refused of a new bundle: ${formatFault(fault)}`);
    tellRemarks(deps.tick, 'ignored', plan.ignored);
    tellRemarks(deps.tick, 'may not work', plan.notices.map(formatFault));
    deps.tick.journal.debug(`plan: ${plan.services.map(({ name, change }) => `${name}=${change}`).join(' ')}`);
    await deps.compose.probe(signal);
  } catch (error) {
    await deps.releases.clearStaging(bundle.sha, signal);
    throw error;
  }
}
