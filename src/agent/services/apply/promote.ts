import type { Bundle } from '../../../../machines/types.ts';
import { ensureRevertible } from '../release/integrity.ts';
import { cancelPurge } from '../release/pendingPurge.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Repairs the applied release for a possible revert, records the attempt durably, then points `current` to the new release.
 * The phase of an interrupted attempt is kept: it tells whether containers were changed.
 */
export async function promote(deps: Dependencies, { bundle }: { bundle: Bundle }, signal: AbortSignal): Promise<void> {
  const { releases, state } = deps;
  const { applied_sha } = state.state;
  if (applied_sha !== null && applied_sha !== bundle.sha) await ensureRevertible(deps, applied_sha, signal);
  await cancelPurge(deps, 'a bundle is applied');
  const phase = state.state.attempt?.phase ?? 'promoted';
  const production = state.state.production || bundle.manifest.production;
  const production_unknown = await isProductionStillUnknown(deps);
  await state.update({
    production,
    production_unknown,
    attempt: { sha: bundle.sha, phase, at: new Date().toISOString() },
  });
  await releases.current.set(bundle.sha);
}

/** False once the project has no volumes: all future volumes are created under known production flags. */
async function isProductionStillUnknown({ orchestrator, state }: Dependencies): Promise<boolean> {
  return state.state.production_unknown === true && (await orchestrator.volumes()).length > 0;
}
