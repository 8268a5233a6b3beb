import type { Bundle, DesiredState } from '../../../../machines/types.ts';
import type { Baseline } from '../../rules/state/state.ts';
import { removeConflictingOrphans } from './orphanRemoval.ts';
import { failedFault } from '../../../../machines/fault.ts';
import { formatFault, formatRefusal, refusalWith } from '../../../../machines/refusals.ts';
import { validateHealthWait } from '../../../bundle/plan/waitPlan.rules.ts';
import { readComposeFiles } from '../../../bundle/compose/composeFiles.ts';
import { pulledImageFaults } from '../../../bundle/plan/hostFaults.rules.ts';
import { engineMeansOf } from '../../rules/bundle/engineMeans.ts';
import { tellRemarks } from '../apply/remarks.ts';
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
  await judgePulledImages(deps, bundle, signal);
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

/**
 * Throws COMPOSE_REFUSED when the user of an image takes the owner of a config or secret away, and names images of another
 * processor: a plan knows both only of images that were on the host.
 */
async function judgePulledImages(deps: Dependencies, { sha, manifest }: Bundle, signal: AbortSignal): Promise<void> {
  const { containers, releases, tick } = deps;
  const definitions = tick.serviceDefinitions?.sha === sha ? [...tick.serviceDefinitions.services] : [];
  const pulled = definitions.filter(([, { image }]) => tick.pulledTags.has(image));
  if (pulled.length === 0) return;
  const found = await Promise.all(
    pulled.map(async ([service, { image }]) => [service, await containers.localImage(image)] as const),
  );
  const images = new Map(found.flatMap(([service, image]) => (image === null ? [] : [[service, image]])));
  const { files } = await readComposeFiles({ dir: releases.pathOf(sha), manifest }, signal);
  const engine = engineMeansOf({ ...(await containers.reading()), listeners: [], hostname: '' });
  const { faults, notices } = pulledImageFaults({ files, manifest }, images, engine);
  const isRefused = faults.length > 0 && !tick.isAppliedContent;
  if (isRefused) throw failedFault('COMPOSE_REFUSED', formatRefusal(refusalWith('COMPOSE_REFUSED', faults)));
  tellRemarks(tick, 'may not work', [...faults, ...notices].map(formatFault));
}
