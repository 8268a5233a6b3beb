import { Fault } from '../../../../machines/fault.ts';
import type { ObservedState } from '../../../../machines/types.ts';
import { unhealthyServicesOf, type ExpectedService } from '../../rules/health/unhealthyServices.ts';
import { reportedContainerOf, type ObservedContainer } from '../../rules/health/health.ts';
import { expectedServices } from '../../rules/release/releaseRecord.ts';
import { crashedServices } from './crashedServices.ts';
import type { Dependencies } from '../dependencies.ts';

const ENGINE_UNAVAILABLE: ObservedState = {
  engineAvailable: false,
  healthy: false,
  attemptInProgress: false,
  unhealthyServices: [],
  containers: [],
};

/** Observes which containers run and whether they are healthy. An unreachable engine is no fault: the check-in still happens. */
export async function observeHost(deps: Dependencies): Promise<ObservedState> {
  const { recordDecision, state, releases } = deps;
  const containers = await deps.containers.listStatuses().catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    deps.tick.journal.warn(error.message);
    return null;
  });
  if (containers === null) {
    recordDecision({ word: 'engine-unreachable' });
    return ENGINE_UNAVAILABLE;
  }
  deps.tick.engineAnswered = true;
  const { applied_sha, attempt } = state.state;
  const record = applied_sha === null ? null : await releases.readRecord(applied_sha);
  const unhealthyServices =
    applied_sha === null ? [] : await findUnhealthyServices(deps, containers, expectedServices(record));
  const healthy = attempt === null && unhealthyServices.length === 0;
  if (unhealthyServices.length > 0) recordDecision({ word: 'unhealthy', services: unhealthyServices });
  if (attempt !== null) recordDecision({ word: 'attempt-found', sha: attempt.sha, phase: attempt.phase });
  const reported = containers.map(reportedContainerOf);
  deps.tick.containers = reported;
  return {
    engineAvailable: true,
    healthy,
    attemptInProgress: attempt !== null,
    unhealthyServices,
    containers: reported,
  };
}

async function findUnhealthyServices(
  deps: Dependencies,
  containers: ObservedContainer[],
  expected: ExpectedService[],
): Promise<string[]> {
  const names = [...unhealthyServicesOf(containers, expected), ...(await crashedServices(deps, containers))];
  return [...new Set(names)].sort();
}
