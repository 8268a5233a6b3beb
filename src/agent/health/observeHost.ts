import { Fault, faultFacts } from '../../../machines/fault.ts';
import type { ObservedState, ReportedContainer, ServiceProblem } from '../../../machines/types.ts';
import type { Violation } from '../../api/agentSchemas.ts';
import { policyViolations } from '../apply/policyHost.ts';
import type { VerifyAgainDependencies } from '../apply/verifyImages.ts';
import { monotonicMs, wallClockOffsetMs } from '../../core/clock.ts';
import { causeLine } from '../../core/failureCauses.rules.ts';
import { lastWordsOf, type LogReader } from '../engine/containerLogs.ts';
import { warnOnError } from '../release/garbage.ts';
import type { AppliedRelease, Observation, Orchestrator } from '../release/orchestrator.ts';
import { endedServices, expectedServices, finishedServices, writableLine } from '../release/record.rules.ts';
import type { ExpectedService } from '../release/services.rules.ts';
import { afterObservation } from './healing.rules.ts';
import { type CrashWindow, lastObservedMs, type ReleaseStart } from './health.rules.ts';
import {
  describeUnhealthy,
  servicesOf,
  unhealthyServicesAmong,
  type WatchedContainer,
} from './unhealthyServices.rules.ts';
import { redactFault, type RunningTick } from '../journal/journal.ts';
import type { Settings } from '../config/configKeys.ts';
import { describeViolation } from '../state/state.rules.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Download } from '../transport/download.ts';
import { trustViolations } from '../../signatures/signatureFiles.ts';
import type { Releases } from '../release/releases.ts';
import type { Containers } from '../engine/containers.ts';

/** Dependencies of an observation: it changes nothing, so a command can also make it. */
export interface ObserverDependencies {
  readonly settings: Settings;
  /** Name of the compose project: `deployd-<env>`. */
  readonly project: string;
  readonly state: StateStore;
  readonly releases: Releases;
  readonly containers: Containers;
  readonly tick: RunningTick;
}

/** Dependencies of the observation in a tick. */
export interface HealthDependencies extends VerifyAgainDependencies {
  readonly containers: Containers;
  readonly download: Download;
  readonly orchestrator: Orchestrator;
  readonly stop: AbortController;
}

const ENGINE_UNAVAILABLE: Omit<ObservedState, 'engineFault'> = {
  leader: null,
  swarm: null,
  engineAvailable: false,
  healthy: false,
  attemptInProgress: false,
  unhealthyServices: [],
  problems: [],
  containers: [],
};

/** Observes which containers run and whether they are healthy. An unreachable engine is not a fault: the check-in still happens. */
export async function observeHost(deps: HealthDependencies): Promise<ObservedState> {
  const { orchestrator, recordDecision, state, tick } = deps;
  const observation = await observe(deps).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tick.journal.warn(error.message);
    return error;
  });
  if (observation instanceof Fault) {
    recordDecision({ word: observation.code === 'ENGINE_ERROR' ? 'engine-failed' : 'engine-unreachable' });
    const swarm = orchestrator.isShared ? (state.state.swarm ?? null) : null;
    return { ...ENGINE_UNAVAILABLE, swarm, engineFault: faultFacts(redactFault(deps, observation)) };
  }
  const { leader, swarm, containers } = observation;
  const adopted =
    leader === null ? [...(await adoptApplied(deps)), ...(await withdrawnProblems(deps, containers))] : [];
  const problems = [...observation.problems, ...adopted];
  const unhealthyServices = servicesOf(problems);
  await recordObservation(deps, { ...observation, problems });
  tellFindings(deps, observation);
  const attempt = leader === null ? state.state.attempt : null; // resources that another node leads are also finished by that node
  await warnOnError(deps, 'a service that has ended may be started again', () => recordEnded(deps, containers));
  await warnOnError(deps, 'writable mounts of the bundle are not reported', () => tellWritable(deps));
  if (unhealthyServices.length > 0) recordDecision({ word: 'unhealthy', services: unhealthyServices });
  if (attempt !== null) recordDecision({ word: 'attempt-found', sha: attempt.sha, phase: attempt.phase });
  return {
    ...{ leader, swarm },
    engineAvailable: true,
    engineFault: null,
    healthy: attempt === null && !state.state.unreverted && unhealthyServices.length === 0,
    attemptInProgress: attempt !== null,
    unhealthyServices,
    problems,
    containers,
  };
}

/**
 * Records the containers and volumes of a release that an older agent applied. This tick changes nothing: containers
 * outside the release count as drift from the next tick on.
 */
async function adoptApplied(deps: HealthDependencies): Promise<ServiceProblem[]> {
  const { orchestrator, state, stop } = deps;
  const { applied_sha, attempt } = state.state;
  if (applied_sha === null || attempt !== null || state.isUnknown) return [];
  const foreign = await orchestrator.adopt(applied_sha, stop.signal);
  for (const { service, detail } of foreign) tell(deps, `drift: ${service}: ${detail}`);
  return foreign;
}

const withdrawnDetail = 'no longer permitted';

/** True for the problem of a service that the agent must stop, because the host no longer permits it. */
export function isWithdrawn({ detail }: ServiceProblem): boolean {
  return detail === withdrawnDetail;
}

/**
 * Reports what trust and policy no longer allow of the applied release. With `on_withdrawal: stop`, its services are
 * problems: all of them, if the bundle itself is not allowed.
 */
async function withdrawnProblems(
  deps: HealthDependencies,
  containers: readonly ReportedContainer[],
): Promise<ServiceProblem[]> {
  const names = containers.map(({ service }) => service);
  const violations = [...(await untrustedParts(deps, names)), ...(await unpermittedParts(deps))];
  for (const each of violations) tell(deps, describeViolation(each));
  if (deps.settings.on_withdrawal === 'report') return [];
  const isWhole = violations.some(({ service }) => service === null);
  const services = isWhole ? names : violations.flatMap(({ service }) => service ?? []);
  return [...new Set(services)].map((service) => {
    return { service, detail: withdrawnDetail, cure: 'none', containers: [], isFailure: false };
  });
}

/** A bundle or an image of untrusted signers may have been signed again since, and trust may have changed. */
async function untrustedParts(deps: HealthDependencies, services: readonly string[]): Promise<Violation[]> {
  const { releases, settings, state, stop, vault } = deps;
  const { applied_sha, applied_images, offline_since = null } = state.state;
  const violations = () => trustViolations(settings.trust, { ...state.state, services });
  const found = violations();
  const mayAsk = vault.hasToken() && offline_since === null;
  if (applied_sha === null || !mayAsk) return found;
  if (found.some(({ service }) => service === null)) {
    const { verifyApplied } = await import('../apply/obtainBundle.ts');
    await verifyApplied(deps, applied_sha, stop.signal);
  }
  const record = found.some(({ service }) => service !== null) ? await releases.readRecord(applied_sha) : null;
  if (record !== null) {
    const { verifyAppliedImages } = await import('../apply/verifyImages.ts');
    const release = { ...record, verified_images: applied_images ?? [] };
    await verifyAppliedImages(deps, release, { isStart: false }, stop.signal);
  }
  return violations();
}

async function unpermittedParts(deps: HealthDependencies): Promise<readonly Violation[]> {
  return policyViolations(deps, deps.stop.signal).catch((error: unknown) => {
    if (!(error instanceof Fault)) throw error;
    tell(deps, `the policy could not be checked for the applied release: ${error.message}`);
    return [];
  });
}

function tellFindings(deps: HealthDependencies, { findings = [] }: Observation): void {
  for (const line of findings) tell(deps, line);
}

/** Logs a line that the report and the status contain too. */
function tell({ tick }: { tick: RunningTick }, line: string): void {
  tick.journal.warn(line);
  tick.journal.remarks.push(line);
}

/** Counts the ticks that find a service failed, in state.json. */
async function recordObservation(
  { state, tick }: HealthDependencies,
  { problems, restarts = new Map(), lostVolumes = [] }: Observation,
): Promise<void> {
  const { healing = {}, lost_volumes = [] } = state.state;
  const isQuiet = problems.length === 0 && Object.keys(healing).length === 0;
  if (state.isUnknown || isQuiet) return;
  const known = new Set(lost_volumes.map(({ name }) => name));
  const lost = lostVolumes.filter(({ name }) => !known.has(name));
  await state.update({
    healing: afterObservation(healing, { problems, restarts }, tick.clock.startedAt),
    ...(lost.length > 0 && {
      lost_volumes: [...lost_volumes, ...lost.map((each) => ({ ...each, at: tick.clock.startedAt.toISOString() }))],
    }),
  });
}

async function observe(deps: HealthDependencies) {
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
async function recordEnded(
  { orchestrator, releases, state }: HealthDependencies,
  containers: readonly ReportedContainer[],
) {
  const record = state.state.applied_sha === null ? null : await releases.readRecord(state.state.applied_sha);
  if (record === null || orchestrator.isShared || state.state.attempt !== null) return;
  const ended = endedServices(record, containers);
  if (ended.join() !== (record.ended ?? []).join()) await releases.writeRecord(record.sha, { ...record, ended });
}

/**
 * Reports the paths of the applied bundle that containers may write to; for a release of an older agent they are
 * recorded first.
 */
async function tellWritable(deps: HealthDependencies): Promise<void> {
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

/** The times by which a crash counts now. */
export function crashWindowOf({ settings, state }: ObserverDependencies): CrashWindow {
  const nowMs = Date.now();
  return {
    nowMs,
    observedMs: lastObservedMs(state.state, nowMs),
    settleMs: settings.settle_s * 1000,
    intervalMs: settings.interval_s * 1000,
  };
}

/** Records the current time, and the last start of each existing container, as the start of a release. */
export function composeUpNow(before: readonly { id: string; startedMs: number }[]): ReleaseStart {
  return {
    atMs: monotonicMs(),
    clockOffsetMs: wallClockOffsetMs(),
    starts: new Map(before.map(({ id, startedMs }) => [id, startedMs])),
  };
}

/** The fault UNHEALTHY: names each unhealthy service; its tail has the last log lines and health probes of their containers. */
export async function unhealthyFault(
  deps: LogReader & Pick<HealthDependencies, 'recordDecision'>,
  watched: WatchedContainer[],
  { expected, waitedMs }: { expected: ExpectedService[]; waitedMs: number },
): Promise<Fault> {
  const services = unhealthyServicesAmong(watched, expected);
  deps.recordDecision({ word: 'unhealthy', services });
  const seconds = Math.round(waitedMs / 1000);
  const unhealthy = watched.filter(
    ({ container, healthStatus }) => healthStatus !== 'healthy' && services.includes(container.service),
  );
  const { tail, cause } = await lastWordsOf(
    deps,
    unhealthy.map(({ container }) => container),
  );
  const line = `failed: containers not healthy after ${seconds}s: ${describeUnhealthy(watched, services)}`;
  return new Fault('failed', line, { code: 'UNHEALTHY', tail, moreLines: cause === null ? [] : [causeLine(cause)] });
}
