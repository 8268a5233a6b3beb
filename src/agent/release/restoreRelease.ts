import { Fault, type FaultDetails, isInterruption } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import { redactFault } from '../journal/journal.ts';
import type { Vault } from '../secrets/vault.ts';
import { isEnvUnchanged } from './fingerprints.ts';
import type { Orchestrator, RestoredRelease } from './orchestrator.ts';
import { incompleteFault, registerEnvForRedaction } from './releases.ts';
import { afterFailedTry, describeUnfinished } from './revertTries.rules.ts';
import type { RepairDependencies } from './integrity.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Decision } from '../journal/trace.rules.ts';

/** Dependencies of starting a release again. */
export interface RestoreDependencies extends RepairDependencies {
  readonly vault: Vault;
  readonly state: StateStore;
  readonly orchestrator: Orchestrator;
  readonly recordDecision: (decision: Decision) => void;
  /** Throws unless the policy and the trusted signers of this host permit a release now. */
  readonly expectPermitted: (sha: Sha, signal: AbortSignal) => Promise<void>;
}

/**
 * Starts a release that was applied before, with the files of its bundle, its own `.env` and the image ids it ran; then
 * ends the recorded attempt and removes resources that only the attempt created.
 * - A missing image is pulled by its recorded digest only.
 * - Throws `RELEASE_INCOMPLETE` when the release cannot run as before, and the refusal of a release that this host no longer
 *   permits.
 * - A failure to set `current` is thrown after everything else is done.
 * - Each failure counts as one try to revert the attempt; after three tries the revert ends unfinished (spec §12.5).
 */
export async function restoreRelease(
  deps: RestoreDependencies,
  release: RestoredRelease,
  signal: AbortSignal,
): Promise<void> {
  await restoreUncounted(deps, release, signal).catch(async (error: unknown) => {
    throw await countTry(deps, error);
  });
}

/**
 * Counts a failed try; the error of the last one says that the revert ends. An unavailable engine and SIGTERM are not
 * counted.
 */
async function countTry(deps: RestoreDependencies, error: unknown): Promise<unknown> {
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

async function restoreUncounted(
  deps: RestoreDependencies,
  release: RestoredRelease,
  signal: AbortSignal,
): Promise<void> {
  const { sha } = release;
  await restoreFiles(deps, sha);
  await deps.orchestrator.obtain(sha, signal);
  const currentError = await deps.releases.current.set(sha).catch((error: unknown) => error as Error);
  if (!(await registerEnvForRedaction(deps, sha))) throw incompleteFault(`release ${sha} has no .env of the agent's`);
  if (!(await isEnvUnchanged(deps, sha)))
    throw incompleteFault(`the .env of release ${sha} is not what the agent wrote`);
  await (await import('./integrity.ts')).ensureIntact(deps, sha, signal);
  await deps.expectPermitted(sha, signal);
  await deps.orchestrator.restore(release, signal);
  if (currentError instanceof Error) throw currentError;
  await deps.state.update({ attempt: null, baseline: null, ...(deps.state.state.unreverted && { unreverted: null }) });
}

/** Points `current` to the applied release, or removes it when none is applied. Returns the applied sha. */
export async function pointCurrentToApplied(deps: RestoreDependencies): Promise<string | null> {
  const { applied_sha } = deps.state.state;
  if (applied_sha === null || !(await deps.releases.exists(applied_sha))) await deps.releases.current.remove();
  else {
    await restoreFiles(deps, applied_sha);
    await deps.releases.current.set(applied_sha);
  }
  return applied_sha;
}

/** Restores the files of a release that an attempt may have rendered again. */
async function restoreFiles(deps: RestoreDependencies, sha: string): Promise<void> {
  await registerEnvForRedaction(deps, sha); // the containers of the attempt know its values
  await deps.releases.restoreBackup(sha);
}
