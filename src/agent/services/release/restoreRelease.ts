import { Fault, type FaultDetails } from '../../../../machines/fault.ts';
import { isInterruption } from '../../../../machines/outcomes.ts';
import { afterFailedTry, describeUnfinished } from '../../rules/state/revertTries.ts';
import type { Dependencies } from '../dependencies.ts';
import { redactFault } from '../redactFault.ts';
import type { RestoredRelease } from '../orchestrator.ts';
import { isEnvUnchanged } from './envDigest.ts';
import { registerEnvForRedaction } from './envRedaction.ts';
import { incompleteFault } from './incompleteFault.ts';

/**
 * Starts a release that was applied before, with the files of its bundle, its own `.env` and the image ids it ran; then ends the
 * recorded attempt and removes resources that only the attempt created.
 * - A missing image is pulled by its recorded digest only.
 * - Throws `RELEASE_INCOMPLETE` when the release cannot run as it did.
 * - A failure to set `current` is thrown after everything else is done.
 * - A failure counts as a try to undo the attempt, which ends unfinished after three (spec §12.5).
 */
export async function restoreRelease(deps: Dependencies, release: RestoredRelease, signal: AbortSignal): Promise<void> {
  await restoreUncounted(deps, release, signal).catch(async (error: unknown) => {
    throw await countTry(deps, error);
  });
}

/** Counts a failed try; the error of the last one says that the revert ends. An engine that is away, and SIGTERM, count nothing. */
async function countTry(deps: Dependencies, error: unknown): Promise<unknown> {
  const { recordDecision, state } = deps;
  if (!(error instanceof Fault) || isInterruption(error) || error.code === 'RUNTIME_UNAVAILABLE') return error;
  const { attempt, applied_sha } = state.state;
  const { code, tail, lines } = redactFault(deps, error);
  const [line = '', ...moreLines] = lines;
  const patch = afterFailedTry(state.state, { line, code }, new Date());
  const writeError = await state.update(patch).then(
    () => null,
    (fault: unknown) => fault,
  );
  if (attempt === null || !patch.unreverted || writeError !== null || applied_sha === null) return error;
  recordDecision({ word: 'revert-ended', sha: applied_sha });
  return new RevertEnded(`failed: ${describeUnfinished(patch.unreverted)}`, {
    ...(code !== null && { code }),
    ...(tail !== null && { tail }),
    moreLines,
  });
}

/** A revert that ends unfinished. */
export class RevertEnded extends Fault {
  constructor(line: string, details: FaultDetails) {
    super('failed', line, details);
  }
}

async function restoreUncounted(deps: Dependencies, release: RestoredRelease, signal: AbortSignal): Promise<void> {
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
  await deps.state.update({ attempt: null, baseline: null, ...(deps.state.state.unreverted && { unreverted: null }) });
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
