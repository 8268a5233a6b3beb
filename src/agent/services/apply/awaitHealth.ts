import type { Bundle } from '../../../../machines/types.ts';
import { waitUntilHealthy } from '../health/waitUntilHealthy.ts';
import { rethrowAsEngineFault } from '../release/startRelease.ts';
import type { Dependencies } from '../dependencies.ts';

/** Throws UNHEALTHY after the timeout, or RUNTIME_UNAVAILABLE when the engine does not answer. */
export async function awaitHealth(
  deps: Dependencies,
  { bundle }: { bundle: Bundle },
  signal: AbortSignal,
): Promise<void> {
  await waitUntilHealthy(deps, bundle.sha, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
}
