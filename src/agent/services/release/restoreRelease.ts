import { Fault } from '../../../../machines/fault.ts';
import type { Pull } from '../../adapters/compose/compose.ts';
import { replacedImages, type RecordedImage } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { waitUntilHealthy } from '../health/waitUntilHealthy.ts';
import { isEnvUnchanged } from './envDigest.ts';
import { currentContainers, registerEnvForRedaction, startRelease } from './startRelease.ts';

/**
 * Starts a release that was applied before, with the files of its bundle, its own `.env` and the image ids it ran; then ends the
 * recorded attempt and removes resources that only the attempt created.
 * - A missing image is pulled only if `pull` allows it.
 * - Throws `RELEASE_INCOMPLETE` when the release cannot run as it did.
 * - A failure to set `current` is thrown after everything else is done.
 */
export async function restoreRelease(
  deps: Dependencies,
  release: { sha: string; pull: Pull },
  signal: AbortSignal,
): Promise<void> {
  const { sha } = release;
  await restoreFiles(deps, sha);
  const currentError = await deps.releases.current.set(sha).catch((error: unknown) => error as Error);
  if (!(await registerEnvForRedaction(deps, sha))) throw incompleteFault(`release ${sha} has no .env of the agent's`);
  if (!(await isEnvUnchanged(deps, sha)))
    throw incompleteFault(`the .env of release ${sha} is not what the agent wrote`);
  await (await import('./integrity.ts')).ensureIntact(deps, sha, signal);
  await restoreTags(deps, release);
  await startRelease(deps, release, signal);
  await waitUntilHealthy(deps, sha, signal);
  await expectSameImages(deps, sha);
  if (currentError instanceof Error) throw currentError;
  await (await import('./orphanedResources.ts')).removeOrphanedResources(deps);
  await deps.state.update({ attempt: null, baseline: null });
}

/** Points `current` to the applied release, or removes it when none is applied. Returns the applied sha. */
export async function pointCurrentToApplied(deps: Dependencies): Promise<string | null> {
  const { applied_sha } = deps.state.state;
  if (applied_sha === null) await deps.releases.current.remove();
  else {
    await restoreFiles(deps, applied_sha);
    await deps.releases.current.set(applied_sha);
  }
  return applied_sha;
}

/** Restores the files of a release that an attempt may have rendered again. */
async function restoreFiles(deps: Dependencies, sha: string): Promise<void> {
  await registerEnvForRedaction(deps, sha); // the containers of the attempt know its values
  await deps.releases.restoreBackup(sha);
}

/** Tags the images that the release ran with their references again, where a reference names another image now. */
async function restoreTags(
  { containers, releases }: Dependencies,
  { sha, pull }: { sha: string; pull: Pull },
): Promise<void> {
  const missing: RecordedImage[] = [];
  for (const { reference, id } of (await releases.readRecord(sha))?.images ?? []) {
    const current = id === null ? null : await containers.imageId(reference);
    if (id === null || current === id) continue;
    const exists = (await containers.imageId(id)) !== null;
    if (exists && !reference.includes('@')) await containers.tagImage(id, reference);
    if (!exists && (current !== null || pull === 'never')) missing.push({ reference, id });
  }
  if (missing.length > 0) throw incompleteFault(`release ${sha} ran ${formatImages(missing)}: gone from this host`);
}

/** Checks the running image ids: a tag may have moved in the registry, so that the pull brought another image. */
async function expectSameImages(deps: Dependencies, sha: string): Promise<void> {
  const { images } = (await deps.releases.readRecord(sha)) ?? { images: [] };
  const replaced = replacedImages(images, await currentContainers(deps));
  if (replaced.length > 0)
    throw incompleteFault(`release ${sha} ran ${formatImages(replaced)}: other images run in their place`);
}

function formatImages(images: RecordedImage[]): string {
  return images.map(({ reference, id }) => `${reference} as ${id}`).join(', ');
}

function incompleteFault(what: string): Fault {
  return new Fault('failed', `failed: ${what}`, { code: 'RELEASE_INCOMPLETE' });
}
