import type { ContainerExit } from '../../adapters/engine/containerEvents.ts';
import { Fault } from '../../../../machines/fault.ts';
import type { ServiceProblem } from '../../../../machines/types.ts';
import { hasCrashed, mayHaveCrashed } from '../../rules/health/crashes.ts';
import { isRestartedTooOften, type RestartCount } from '../../rules/health/healing.ts';
import type { InspectedContainer, ObservedContainer } from '../../rules/health/health.ts';
import type { ObserverDependencies } from '../dependencies.ts';
import { crashWindowOf } from '../health/crashWindow.ts';

/** What restarts by the engine tell: the problems, and the counts for the next tick, by service. */
export interface CrashFindings {
  problems: ServiceProblem[];
  restarts: ReadonlyMap<string, RestartCount>;
}

/**
 * Services with a container that crashed and was restarted by the engine since the previous tick, or that the engine restarts
 * more often than once a minute (spec §12.4). Only containers whose listed uptime is suspicious are inspected.
 */
export async function crashProblems(deps: ObserverDependencies, observed: ObservedContainer[]): Promise<CrashFindings> {
  const window = crashWindowOf(deps);
  const candidates = observed.filter(
    (container) => container.state === 'restarting' || mayHaveCrashed(container, window),
  );
  const inspected = await Promise.all(candidates.map((container) => inspectListed(deps, container)));
  const restarted = inspected.filter((container) => container !== null).filter(({ restarts }) => restarts > 0);
  const at = new Date(window.nowMs).toISOString();
  const exits = restarted.length === 0 ? null : await deps.containers.exitsSince(window.nowMs - exitsMs);
  const problems = restarted.flatMap((container): ServiceProblem[] => {
    const { id, service, name, restarts, startedMs, health } = container;
    const failed = { service, containers: [id], isFailure: true };
    if (isRestartedTooOften(container, deps.state.state.healing?.[service]?.restarts, window.nowMs))
      return [
        { ...failed, detail: `restarted ${restarts} times by the engine${lastExitOf(exits?.get(id))}`, cure: 'none' },
      ];
    if (!hasCrashed(container, window) || health !== null) return [];
    deps.tick.journal.warn(
      `${name} died and was started again, last at ${new Date(startedMs).toISOString()}; restarts: ${restarts}`,
    );
    return [{ ...failed, detail: `restarted by the engine${lastExitOf(exits?.get(id))}`, cure: 'wait' }];
  });
  return {
    problems,
    restarts: new Map(restarted.map(({ id, service, restarts }) => [service, { id, count: restarts, at }])),
  };
}

/** Milliseconds that the search for the last exit goes back. */
const exitsMs = 600_000;

function lastExitOf(exit: ContainerExit | undefined): string {
  return exit === undefined ? '' : `, last exit ${exit.exitCode}${exit.oomKilled ? ' (out of memory)' : ''}`;
}

/** Null when the container is gone or the engine does not answer. */
async function inspectListed(
  { containers }: ObserverDependencies,
  container: ObservedContainer,
): Promise<InspectedContainer | null> {
  if (!('upMs' in container)) return container;
  return containers.inspect(container).catch((error: unknown) => {
    if (error instanceof Fault) return null;
    throw error;
  });
}
