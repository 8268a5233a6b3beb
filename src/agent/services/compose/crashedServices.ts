import { Fault } from '../../../../machines/fault.ts';
import { hasCrashed, mayHaveCrashed, lastObservedMs } from '../../rules/health/crashes.ts';
import type { InspectedContainer, ObservedContainer } from '../../rules/health/health.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Services with a running container that crashed and was restarted since the previous tick (spec §12.4). Only containers whose
 * listed uptime is suspicious are inspected.
 */
export async function crashedServices(deps: Dependencies, observed: ObservedContainer[]): Promise<string[]> {
  const { settings, state, tick } = deps;
  const nowMs = Date.now();
  const since = {
    nowMs,
    observedMs: lastObservedMs(state.state, nowMs),
    settleMs: settings.settle_s * 1000,
    intervalMs: settings.interval_s * 1000,
  };
  const candidates = await Promise.all(
    observed.filter((container) => mayHaveCrashed(container, since)).map((container) => inspectListed(deps, container)),
  );
  const crashed = candidates
    .filter((candidate) => candidate !== null)
    .filter((candidate) => hasCrashed(candidate, since));
  for (const { name, restarts, startedMs } of crashed)
    tick.journal.warn(
      `${name} died and was started again, last at ${new Date(startedMs).toISOString()}; restarts: ${restarts}`,
    );
  return crashed.map(({ service }) => service);
}

/** Null when the container is gone or the engine does not answer. */
async function inspectListed(
  { containers }: Dependencies,
  container: ObservedContainer,
): Promise<InspectedContainer | null> {
  if (!('upMs' in container)) return container;
  return containers.inspect(container).catch((error: unknown) => {
    if (error instanceof Fault) return null;
    throw error;
  });
}
