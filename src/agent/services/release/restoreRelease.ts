import type { Dependencies } from '../dependencies.ts';
import type { RestoredRelease } from '../orchestrator.ts';
import { isEnvUnchanged } from './envDigest.ts';
import { registerEnvForRedaction } from './envRedaction.ts';
import { incompleteFault } from './incompleteFault.ts';

/**
 * Starts a release that was applied before, with the files of its bundle, its own `.env` and the image ids it ran; then ends the
 * recorded attempt and removes resources that only the attempt created.
 * - A missing image is pulled only if `pull` allows it.
 * - Throws `RELEASE_INCOMPLETE` when the release cannot run as it did.
 * - A failure to set `current` is thrown after everything else is done.
 */
export async function restoreRelease(deps: Dependencies, release: RestoredRelease, signal: AbortSignal): Promise<void> {
  const { sha } = release;
  await restoreFiles(deps, sha);
  await deps.orchestrator.obtain(sha, signal);
  const currentError = await deps.releases.current.set(sha).catch((error: unknown) => error as Error);
  if (!(await registerEnvForRedaction(deps, sha))) throw incompleteFault(`release ${sha} has no .env of the agent's`);
  if (!(await isEnvUnchanged(deps, sha)))
    throw incompleteFault(`the .env of release ${sha} is not what the agent wrote`);
  await (await import('./integrity.ts')).ensureIntact(deps, sha, signal);
  await deps.orchestrator.restore(release, signal);
  if (currentError instanceof Error) throw currentError;
  await deps.state.update({ attempt: null, baseline: null });
}

/** Points `current` to the applied release, or removes it when none is applied. Returns the applied sha. */
export async function pointCurrentToApplied(deps: Dependencies): Promise<string | null> {
  const { applied_sha } = deps.state.state;
  if (applied_sha === null || !(await deps.releases.exists(applied_sha))) await deps.releases.current.remove();
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
