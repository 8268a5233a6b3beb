import { Fault } from '../../../../machines/fault.ts';
import { hasCrashed, mayHaveCrashed } from '../../rules/health/crashes.ts';
import type { InspectedContainer, ObservedContainer } from '../../rules/health/health.ts';
import type { Dependencies } from '../dependencies.ts';
import { crashWindowOf } from '../health/crashWindow.ts';

/**
 * Services with a running container that crashed and was restarted since the previous tick (spec §12.4). Only containers whose
 * listed uptime is suspicious are inspected.
 */
export async function crashedServices(deps: Dependencies, observed: ObservedContainer[]): Promise<string[]> {
  const { tick } = deps;
  const since = crashWindowOf(deps);
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
