import { failedFault } from '../../../machines/fault.ts';
import { formatFault, formatRefusal, refusalWith } from '../../../machines/refusals.ts';
import { pulledImageFaults } from '../../bundle/plan/hostFaults.rules.ts';
import { validateHealthWait } from '../../bundle/plan/waitPlan.rules.ts';
import { readImageHealthchecks } from '../apply/bundlePlan.ts';
import { isProduction } from '../release/down.ts';
import type { Carried, RenderedModel, RestoredRelease, StartedRelease, StartInput } from '../release/orchestrator.ts';
import { replacedImages } from '../release/record.rules.ts';
import type { Baseline } from '../state/state.rules.ts';
import { holdDetachedVolumes } from './createdContainers.ts';
import { type PreparedImages, prepareImages } from './images.ts';
import { type ComposeDependencies, currentContainers } from './observe.ts';
import { removeForeign } from './recordContainers.ts';
import { startRelease } from './startRelease.ts';
import { waitUntilHealthy } from './waitUntilHealthy.ts';
import { engineMeansOf } from '../engine/resources.rules.ts';
import { tellRemarks } from '../journal/journal.ts';
import { incompleteFault } from '../release/releases.ts';
import { removeConflictingOrphans, removeOrphanedResources } from './down.ts';

/**
 * Starts the release from local images. The attempt records first that containers change from here on; the same write records
 * the volumes and networks that exist now, unless an earlier failed attempt did.
 */
export async function startContainers(
  deps: ComposeDependencies,
  input: Carried<StartInput>,
  signal: AbortSignal,
): Promise<StartedRelease> {
  const { containers, state } = deps;
  const { bundle, desired, model, release } = input;
  const { sha, manifest } = bundle;
  await refuseLongWait(deps, model);
  await judgePulledImages(deps, input);
  const known = state.state.baseline ?? null;
  const found: Baseline = known ?? { sha, ...(await containers.ownedResources()) };
  const production = await isProduction(deps, state.state, desired.production || manifest.production);
  const baseline = { ...found, volumes: production === false ? found.volumes : null };
  await state.update({ attempt: { sha, phase: 'starting', at: new Date().toISOString() }, baseline });
  if (known !== null) await removeConflictingOrphans(deps, sha, model.granted);
  await removeForeign(deps);
  return startRelease(deps, { sha, fingerprints: release.services }, signal);
}

/** Throws COMPOSE_REFUSED when the healthcheck of an image demands more time than this host waits; now all images are here. */
async function refuseLongWait(deps: ComposeDependencies, { written }: RenderedModel): Promise<void> {
  const { settings, vault } = deps;
  const services = written.map((each) => ({ ...each, image: each.image && vault.reveal(each.image) }));
  const images = await readImageHealthchecks(deps, services);
  const refusal = validateHealthWait(services, images, settings.health_timeout_max_s);
  if (refusal !== null) throw failedFault(refusal.code, formatRefusal(refusal));
}

/**
 * Validates the images that this tick pulled, which the plan could not read: COMPOSE_REFUSED if the image's user cannot
 * read a config or secret. For a bundle that is applied already, and for another processor, it only warns.
 */
async function judgePulledImages(
  deps: ComposeDependencies,
  { bundle: { manifest }, project, isApplied, release }: Carried<StartInput>,
): Promise<void> {
  const { containers, memory, tick, vault } = deps;
  const services = [...release.services].map(([name, { image }]) => ({ name, image: vault.reveal(image) }));
  const pulled = services.filter(({ image }) => memory.pulledTags.has(image));
  if (pulled.length === 0) return;
  const found = await Promise.all(
    pulled.map(async ({ name, image }) => [name, await containers.localImage(image)] as const),
  );
  const images = new Map(found.flatMap(([service, image]) => (image === null ? [] : [[service, image]])));
  const engine = engineMeansOf({ ...(await containers.reading()), listeners: [], hostname: '' });
  const { faults, notices } = pulledImageFaults({ project, manifest }, images, engine);
  if (faults.length > 0 && !isApplied)
    throw failedFault('COMPOSE_REFUSED', formatRefusal(refusalWith('COMPOSE_REFUSED', faults)));
  tellRemarks(tick, 'may not work', [...faults, ...notices].map(formatFault));
}

/**
 * Starts a release with its recorded image ids. A service whose image is missing and cannot be pulled by its digest
 * stays unchanged; the others are started before the error is thrown.
 */
export async function restore(deps: ComposeDependencies, release: RestoredRelease, signal: AbortSignal): Promise<void> {
  const { sha } = release;
  const images = await prepareImages(deps, release, signal);
  const left = [...new Set([...(release.left ?? []), ...images.left])];
  let started: StartedRelease = { wait: null };
  try {
    await holdDetachedVolumes(deps, sha);
    started = await startRelease(deps, { ...release, left, despiteFaults: true }, signal);
  } finally {
    await images.putTagsBack();
  }
  if (images.fault !== null) throw images.fault;
  await waitUntilHealthy(deps, { sha, left, ...started }, signal);
  await expectSameImages(deps, { sha, ...images });
  await removeOrphanedResources(deps);
}

/** Checks the ids of the running images, because another program may have moved a tag meanwhile. */
async function expectSameImages(
  deps: ComposeDependencies,
  { sha, expected }: { sha: string } & Pick<PreparedImages, 'expected'>,
): Promise<void> {
  const replaced = replacedImages(expected, await currentContainers(deps));
  const named = replaced.map(({ name, id }) => `${name} as ${id}`).join(', ');
  if (named !== '') throw incompleteFault(`release ${sha} ran ${named}: other images run in their place`);
}
