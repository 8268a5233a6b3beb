import { Fault } from '../../../../machines/fault.ts';
import { hasCrashed, isSuspect, lastSeenMs } from '../../rules/health/crashes.ts';
import type { Inspected, Seen } from '../../rules/health/health.ts';
import type { Tools } from '../tools.ts';

/**
 * Services with a container that runs at this moment, but died by itself since the tick before (spec §12.4). Only what its
 * listed uptime makes suspect is inspected: where nobody started anything, nothing is.
 */
export async function crashedServices(tools: Tools, seen: Seen[]): Promise<string[]> {
  const { settings, state, tick } = tools;
  const nowMs = Date.now();
  const since = {
    nowMs,
    seenMs: lastSeenMs(state.state, nowMs),
    settleMs: settings.settle_s * 1000,
    intervalMs: settings.interval_s * 1000,
  };
  const suspects = await Promise.all(
    seen.filter((each) => isSuspect(each, since)).map((each) => inspected(tools, each)),
  );
  const crashed = suspects.filter((each) => each !== null).filter((each) => hasCrashed(each, since));
  for (const { name, restarts, startedMs } of crashed)
    tick.journal.warn(
      `${name} died and was started again, last at ${new Date(startedMs).toISOString()}; restarts: ${restarts}`,
    );
  return crashed.map(({ service }) => service);
}

/** Null where it is gone by now, or the engine is. */
async function inspected({ containers }: Tools, seen: Seen): Promise<Inspected | null> {
  if (!('upMs' in seen)) return seen;
  return containers.lookAt(seen).catch((error: unknown) => {
    if (error instanceof Fault) return null;
    throw error;
  });
}
