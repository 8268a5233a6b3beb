import { Fault } from '../../../../machines/fault.ts';
import type { ObservedState } from '../../../../machines/types.ts';
import { afterObservation } from '../../rules/health/healing.ts';
import { servicesOf } from '../../rules/health/unhealthyServices.ts';
import { expectedServices } from '../../rules/release/releaseRecord.ts';
import type { Dependencies, ObserverDependencies } from '../dependencies.ts';
import type { AppliedRelease, Observation } from '../orchestrator.ts';

const ENGINE_UNAVAILABLE: ObservedState = {
  leader: null,
  swarm: null,
  engineAvailable: false,
  healthy: false,
  attemptInProgress: false,
  unhealthyServices: [],
  problems: [],
  containers: [],
};

/** Observes which containers run and whether they are healthy. An unreachable engine is no fault: the check-in still happens. */
export async function observeHost(deps: Dependencies): Promise<ObservedState> {
  const { orchestrator, recordDecision, state, tick } = deps;
  const observation = await observe(deps).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tick.journal.warn(error.message);
    tick.engineFault = error;
    return null;
  });
  if (observation === null) {
    recordDecision({ word: tick.engineFault?.code === 'ENGINE_ERROR' ? 'engine-failed' : 'engine-unreachable' });
    return { ...ENGINE_UNAVAILABLE, swarm: orchestrator.isShared ? (state.state.swarm ?? null) : null };
  }
  const { leader, swarm, containers, problems } = observation;
  const unhealthyServices = servicesOf(problems);
  await recordObservation(deps, observation);
  const attempt = leader === null ? state.state.attempt : null; // what another node leads, it also finishes
  tick.engineAnswered = true;
  tick.containers = containers;
  if (unhealthyServices.length > 0) recordDecision({ word: 'unhealthy', services: unhealthyServices });
  if (attempt !== null) recordDecision({ word: 'attempt-found', sha: attempt.sha, phase: attempt.phase });
  return {
    ...{ leader, swarm },
    engineAvailable: true,
    healthy: attempt === null && unhealthyServices.length === 0,
    attemptInProgress: attempt !== null,
    unhealthyServices,
    problems,
    containers,
  };
}

/** Counts the ticks that find a service failed, in state.json. */
async function recordObservation(
  { state, tick }: Dependencies,
  { problems, restarts = new Map() }: Observation,
): Promise<void> {
  const { healing = {} } = state.state;
  if (state.isUnknown || (problems.length === 0 && Object.keys(healing).length === 0)) return;
  await state.update({ healing: afterObservation(healing, { problems, restarts }, tick.startedAt) });
}

async function observe(deps: Dependencies) {
  const { orchestrator } = deps;
  const membership = await orchestrator.membership();
  return { ...membership, ...(await orchestrator.observe(await readApplied(deps))) };
}

/** The applied release with the services that must run. */
export async function readApplied({
  releases,
  state,
}: Pick<ObserverDependencies, 'releases' | 'state'>): Promise<AppliedRelease | null> {
  const sha = state.state.applied_sha;
  return sha === null ? null : { sha, services: expectedServices(await releases.readRecord(sha)) };
}
