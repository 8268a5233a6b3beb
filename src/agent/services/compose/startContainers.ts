import type { Bundle, DesiredState } from '../../../../machines/types.ts';
import type { Baseline } from '../../rules/state/state.ts';
import { removeConflictingOrphans } from './orphanRemoval.ts';
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
  const known = state.state.baseline ?? null;
  const found: Baseline = known ?? { sha, ...(await containers.ownedResources()) };
  const production = await isProduction(deps, state.state, desired.production || manifest.production);
  const baseline = { ...found, volumes: production === false ? found.volumes : null };
  await state.update({ attempt: { sha, phase: 'starting', at: new Date().toISOString() }, baseline });
  if (known !== null) await removeConflictingOrphans(deps, sha);
  await removeForeign(deps);
  await startRelease(deps, { sha, pull: 'never' }, signal);
}
