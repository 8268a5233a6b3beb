import { refusedFault } from '../../../../machines/fault.ts';
import { formatFault, type Refusal } from '../../../../machines/refusals.ts';
import type { Bundle, DesiredState } from '../../../../machines/types.ts';
import type { Dependencies } from '../dependencies.ts';
import { planBundle } from './bundlePlan.ts';
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
    tell(deps, 'ignored', plan.ignored);
    tell(deps, 'may not work', plan.notices.map(formatFault));
    deps.tick.journal.debug(`plan: ${plan.services.map(({ name, change }) => `${name}=${change}`).join(' ')}`);
    await deps.compose.probe(signal);
  } catch (error) {
    await deps.releases.clearStaging(bundle.sha, signal);
    throw error;
  }
}

/** Lines of one kind that one report has. */
const maxLines = 20;

/** What nothing is refused for, in the journal and in the report. */
function tell({ tick }: Dependencies, kind: string, found: readonly string[]): void {
  const more = found.length > maxLines ? [`and ${found.length - maxLines} more`] : [];
  for (const line of [...found.slice(0, maxLines), ...more].map((each) => `${kind}: ${each}`)) {
    tick.journal.info(line);
    tick.remarks.push(line);
  }
}
