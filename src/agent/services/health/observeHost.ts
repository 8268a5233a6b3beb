import { Fault } from '../../../../machines/fault.ts';
import type { ObservedState, ServiceProblem } from '../../../../machines/types.ts';
import { afterObservation } from '../../rules/health/healing.ts';
import { servicesOf } from '../../rules/health/unhealthyServices.ts';
import type { ReportedContainer } from '../../../../machines/types.ts';
import { endedServices, expectedServices, finishedServices, writableLine } from '../../rules/release/releaseRecord.ts';
import { warnOnError } from '../release/collectGarbage.ts';
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
  const { leader, swarm, containers } = observation;
  const problems = [...observation.problems, ...(leader === null ? await adoptApplied(deps) : [])];
  const unhealthyServices = servicesOf(problems);
  await recordObservation(deps, { ...observation, problems });
  tellFindings(deps, observation);
  const attempt = leader === null ? state.state.attempt : null; // what another node leads, it also finishes
  tick.engineAnswered = true;
  tick.containers = containers;
  await warnOnError(deps, 'a service that has ended may be started again', () => recordEnded(deps, containers));
  await warnOnError(deps, 'writable mounts of the bundle are not reported', () => tellWritable(deps));
  if (unhealthyServices.length > 0) recordDecision({ word: 'unhealthy', services: unhealthyServices });
  if (attempt !== null) recordDecision({ word: 'attempt-found', sha: attempt.sha, phase: attempt.phase });
  return {
    ...{ leader, swarm },
    engineAvailable: true,
    healthy: attempt === null && !state.state.unreverted && unhealthyServices.length === 0,
    attemptInProgress: attempt !== null,
    unhealthyServices,
    problems,
    containers,
  };
}

/**
 * Records the containers and volumes of a release that an older agent applied. Nothing is changed in this tick: what does not
 * belong to the release is drift from the next one on.
 */
async function adoptApplied(deps: Dependencies): Promise<ServiceProblem[]> {
  const { orchestrator, state, stop } = deps;
  const { applied_sha, attempt } = state.state;
  if (applied_sha === null || attempt !== null || state.isUnknown) return [];
  const foreign = await orchestrator.adopt(applied_sha, stop.signal);
  for (const { service, detail } of foreign) tell(deps, `drift: ${service}: ${detail}`);
  return foreign;
}

function tellFindings(deps: Dependencies, { findings = [] }: Observation): void {
  for (const line of findings) tell(deps, line);
}

/** Logs a line that the report and the status contain too. */
function tell({ tick }: Dependencies, line: string): void {
  tick.journal.warn(line);
  tick.remarks.push(line);
}

/** Counts the ticks that find a service failed, in state.json. */
async function recordObservation(
  { state, tick }: Dependencies,
  { problems, restarts = new Map(), lostVolumes = [] }: Observation,
): Promise<void> {
  const { healing = {}, lost_volumes = [] } = state.state;
  const isQuiet = problems.length === 0 && Object.keys(healing).length === 0;
  if (state.isUnknown || isQuiet) return;
  const known = new Set(lost_volumes.map(({ name }) => name));
  const lost = lostVolumes.filter(({ name }) => !known.has(name));
  await state.update({
    healing: afterObservation(healing, { problems, restarts }, tick.startedAt),
    ...(lost.length > 0 && {
      lost_volumes: [...lost_volumes, ...lost.map((each) => ({ ...each, at: tick.startedAt.toISOString() }))],
    }),
  });
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
  if (sha === null) return null;
  const record = await releases.readRecord(sha);
  return { sha, services: expectedServices(record), finished: finishedServices(record) };
}

/** Records which services of kind `once` have ended with 0, so that no heal starts them again. */
async function recordEnded({ orchestrator, releases, state }: Dependencies, containers: readonly ReportedContainer[]) {
  const record = state.state.applied_sha === null ? null : await releases.readRecord(state.state.applied_sha);
  if (record === null || orchestrator.isShared || state.state.attempt !== null) return;
  const ended = endedServices(record, containers);
  if (ended.join() !== (record.ended ?? []).join()) await releases.writeRecord(record.sha, { ...record, ended });
}

/** Reports the paths of the applied bundle that containers may write to; of a release of an older agent they are recorded first. */
async function tellWritable(deps: Dependencies): Promise<void> {
  const { orchestrator, releases, state } = deps;
  const sha = state.state.applied_sha;
  if (sha === null || orchestrator.isShared || state.state.attempt !== null) return;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const writable = record.writable ?? (await releases.readInventory(sha))?.writable ?? [];
  if (record.writable === undefined) await releases.writeRecord(sha, { ...record, writable });
  const line = writableLine({ writable });
  if (line !== null) tell(deps, line);
}
