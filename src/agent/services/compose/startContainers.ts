import type { Bundle, DesiredState } from '../../../../machines/types.ts';
import type { Baseline } from '../../rules/state/state.ts';
import { removeConflictingOrphans } from './orphanRemoval.ts';
import { failedFault } from '../../../../machines/fault.ts';
import { formatRefusal } from '../../../../machines/refusals.ts';
import { validateHealthWait } from '../../../bundle/rules/wait/releaseWait.ts';
import { readImageHealthchecks } from '../apply/bundlePlan.ts';
import { isProduction } from '../release/production.ts';
import { removeForeign } from './recordContainers.ts';
import { startRelease } from './startRelease.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Starts the release from local images. The attempt records first that containers change from here on; the same write records
 * the volumes and networks that exist now, unless an earlier failed attempt did.
 */
export async function startContainers(
  deps: Dependencies,
  { bundle, desired }: { bundle: Bundle; desired: DesiredState },
  signal: AbortSignal,
): Promise<void> {
  const { containers, state } = deps;
  const { sha, manifest } = bundle;
  await refuseLongWait(deps, sha);
  const known = state.state.baseline ?? null;
  const found: Baseline = known ?? { sha, ...(await containers.ownedResources()) };
  const production = await isProduction(deps, state.state, desired.production || manifest.production);
  const baseline = { ...found, volumes: production === false ? found.volumes : null };
  await state.update({ attempt: { sha, phase: 'starting', at: new Date().toISOString() }, baseline });
  if (known !== null) await removeConflictingOrphans(deps, sha);
  await removeForeign(deps);
  await startRelease(deps, { sha }, signal);
}

/** Throws COMPOSE_REFUSED when the healthcheck of an image that was just pulled demands more time than this host waits. */
async function refuseLongWait(deps: Dependencies, sha: string): Promise<void> {
  const { settings, tick } = deps;
  const services = tick.writtenServices?.sha === sha ? tick.writtenServices.services : [];
  const images = await readImageHealthchecks(deps, services);
  const refusal = validateHealthWait(services, images, settings.health_timeout_max_s);
  if (refusal !== null) throw failedFault(refusal.code, formatRefusal(refusal));
}
