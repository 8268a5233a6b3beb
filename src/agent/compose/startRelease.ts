import { setTimeout as pause } from 'node:timers/promises';
import { failedFault, Fault, isInterruption } from '../../../machines/fault.ts';
import type { ServiceProblem, Sha } from '../../../machines/types.ts';
import type { EngineHealthcheck } from '../../bundle/plan/writtenServices.rules.ts';
import { monotonicMs } from '../../core/clock.ts';
import { causeLine, causeSaid, describeCause, type FoundCause } from '../../core/failureCauses.rules.ts';
import { printable } from '../../core/text.rules.ts';
import type { ComposeRelease } from '../engine/compose.ts';
import { joinTails, lastWordsOf } from '../engine/containerLogs.ts';
import { type CreatedContainer, serviceOf } from '../engine/createdContainer.rules.ts';
import { ambiguousNetworks } from '../engine/resources.rules.ts';
import { failedAtStart } from '../health/health.rules.ts';
import { composeUpNow, unhealthyFault } from '../health/observeHost.ts';
import { describeUnhealthy, roleOf, type WatchedContainer } from '../health/unhealthyServices.rules.ts';
import { catchFault } from '../journal/journal.ts';
import type { StartedRelease } from '../release/orchestrator.ts';
import { expectedServices, type ReleaseRecord, type ReleaseWait, releaseWaitOf } from '../release/record.rules.ts';
import type { ServiceFingerprints } from '../release/services.rules.ts';
import {
  enforceModel,
  linkedServicesOf,
  prepareCures,
  removeOtherServices,
  removePartiallyCreated,
  restartDependents,
} from './createdContainers.ts';
import { containersWithPreStop, runPostStart, runPreStop, startWithHooks } from './hooks.ts';
import { settleNetworks } from './networks.ts';
import { type ComposeDependencies, rethrowAsEngineFault } from './observe.ts';
import { oneShotsToRunAgain, restoreProviders, servicesToStart } from './oneShots.ts';
import { recordCreated, recordStart } from './recordContainers.ts';
import type { ReplaceableRelease } from './startFirst.ts';
import { comparedServices } from './generations.rules.ts';
import { type ReleaseWatch, watchRelease } from './waitUntilHealthy.ts';
import { completeRecord, composeReleaseOf } from '../release/releases.ts';

/** A release to start, with options. */
interface Start {
  sha: string;
  /** The services that this tick rendered; otherwise the services in the release record. */
  fingerprints?: ServiceFingerprints;
  /**
   * Starts as many services as possible before failing if the engine cannot remove a container, or the disk is too full
   * for the record. Without this option, nothing is started in these cases.
   */
  despiteFaults?: boolean;
  /** Services whose next heal is not due: they are neither started nor awaited. */
  left?: readonly string[];
  /** Problems that require more than starting missing containers; empty by default. */
  problems?: readonly ServiceProblem[];
}

/**
 * Tries again if compose failed because a container ended before compose stopped it. This happens, for example, to a
 * container that shares the pid namespace of a replaced container.
 */
function unlessEndedMeanwhile(again: () => Promise<void>): (error: unknown) => Promise<void> {
  return async (error) => {
    const hasEnded = error instanceof Fault && /cannot stop container: .* is not running/.test(error.tail ?? '');
    if (!hasEnded) throw error;
    await again();
  };
}

/**
 * Starts a release in two steps: compose creates the containers, which are compared with the validated model, then
 * starts them. Partially created containers, and containers of services that the release does not run, are removed
 * first; no image is pulled.
 */
export async function startRelease(
  deps: ComposeDependencies,
  start: Start,
  signal: AbortSignal,
): Promise<StartedRelease> {
  const prepared = await prepareStart(deps, start, signal);
  const { replacement } = prepared;
  if (replacement !== null) {
    const { release, record, services, untouched, plan } = prepared;
    const facts = { release, record: { ...record, services }, untouched, excludedServices: plan.without };
    const replaced = { ...replacement, ...facts, sha: start.sha };
    const startServices = (names: ReadonlySet<string>) => startServicesOf(deps, { start, prepared, names }, signal);
    const rethrow = (error: unknown) => rethrowWithCause(deps, error);
    const { replaceStartFirst } = await import('./startFirst.ts');
    await replaceStartFirst(deps, { ...replaced, startServices, rethrow }, signal);
    await removeOtherServices(deps, prepared.before.containers, { services });
  }
  return startServicesOf(deps, { start, prepared, names: null }, signal);
}

/** A prepared release, and the only services that are started; null for all. */
interface PreparedStart {
  start: Start;
  prepared: Awaited<ReturnType<typeof prepareStart>>;
  names: ReadonlySet<string> | null;
}

async function startServicesOf(
  deps: ComposeDependencies,
  { start, prepared, names: chosen }: PreparedStart,
  signal: AbortSignal,
): Promise<StartedRelease> {
  const { sha } = start;
  const { compose, settings } = deps;
  const rethrow = (error: unknown) => rethrowWithCause(deps, error);
  const { release, record, before, services, plan, untouched, stuckFault, replacement } = prepared;
  const { kept, without: excludedServices } = plan;
  const isTouched = (name: string) =>
    !untouched.includes(name) && !excludedServices.includes(name) && chosen?.has(name) !== false;
  const names = services.map(({ name }) => name);
  const only = untouched.length > 0 || chosen !== null ? names.filter(isTouched) : null;
  const create = async () => {
    if (only?.length === 0) return;
    if (kept.length > 0) await restoreProviders(deps, { kept, services }, await deps.containers.inspectProject());
    // All that the chosen services depend on is there or chosen.
    const withDependencies = chosen !== null && untouched.length === 0;
    const isNeeded = (name: string) => chosen === null || isNeededBy(services, chosen, name);
    const options = { excludedServices: excludedServices.filter(isNeeded), only, withDependencies };
    await drainReplaced(deps, { start, prepared, isTouched }, signal);
    const createOnce = () => compose.create(release, options, signal);
    const createAgain = async () => {
      await removePartiallyCreated(deps, await deps.containers.inspectProject(), kept);
      await createOnce();
    };
    await createOnce().catch(unlessEndedMeanwhile(createAgain)).catch(rethrowAsTakenName).catch(rethrow);
  };
  await create();
  const isOwn = (container: CreatedContainer) => chosen?.has(serviceOf(container)) !== false;
  const after = await enforceModel(deps, { sha, release, create, isOwn }, signal);
  const recorded = after.containers.filter((each) => chosen === null || replacement?.isKept(each) !== false);
  const found = { before: before.containers, after: { ...after, containers: recorded } };
  const recordFault = await catchFault(() => recordCreated(deps, sha, found));
  if (recordFault && start.despiteFaults !== true) throw recordFault;
  const again = oneShotsToRunAgain(deps, { kept, services }, { before, after });
  const wait = releaseWaitOf(services, healthchecksOf(after.containers), settings);
  const started = plan.rest === null && only === null ? null : (plan.rest ?? names).concat(again).filter(isTouched);
  const created = { sha, release, record: { ...record, services }, services: started, left: start.left ?? [], wait };
  // A one-shot that runs again may end before a service has joined its namespace.
  const retry = async (error: unknown) => {
    if (again.length === 0 || isInterruption(error)) throw error;
    await startCreated(deps, created, signal);
  };
  if (started?.length !== 0) await startCreated(deps, created, signal).catch(retry).catch(rethrow);
  await runPostStart(deps, sha, signal);
  if (chosen !== null) return { wait };
  await restartDependents(deps, services);
  const startFirst = replacement?.replacements.map(({ service }) => service) ?? [];
  recordStart(deps, {
    ...{ before: before.containers, after: after.containers },
    applied: start.fingerprints === undefined ? null : { services, startFirst: new Set(startFirst) },
  });
  const fault = stuckFault ?? recordFault;
  if (fault) throw fault;
  return { wait };
}

/** Runs `pre_stop` in the containers that compose is about to replace. */
async function drainReplaced(
  deps: ComposeDependencies,
  { start, prepared, isTouched }: Omit<PreparedStart, 'names'> & { isTouched: (service: string) => boolean },
  signal: AbortSignal,
): Promise<void> {
  const hooked = await containersWithPreStop(deps);
  const ids = new Set([...hooked].filter(([, service]) => isTouched(service)).map(([id]) => id));
  if (ids.size === 0) return;
  const { release, record, services } = prepared;
  const found = { release, record: { ...record, services }, fingerprints: start.fingerprints };
  const { replacedAmong } = await import('./startFirst.ts');
  await runPreStop(deps, await replacedAmong(deps, found, { ids, signal }), signal);
}

/** Removes obstacles to a start, and selects the services to start. */
async function prepareStart(
  deps: ComposeDependencies,
  { sha, fingerprints, despiteFaults = false, problems = [], left = [] }: Start,
  signal: AbortSignal,
) {
  const { containers, memory } = deps;
  const release = await composeReleaseOf(deps, sha);
  memory.healthyContainers = null;
  await expectDistinctNetworks(deps);
  await settleNetworks(deps, { sha, release }, signal);
  const before = await containers.inspectProject();
  const record = await completeRecord(deps, sha);
  const services = await linkedServicesOf(deps, { record, release, created: before.containers }, signal);
  const plan = await servicesToStart(deps, { ...record, services }, fingerprints);
  const stuck = await removePartiallyCreated(deps, before, plan.kept);
  const [stuckFault] = stuck.values();
  if (stuckFault && !despiteFaults) throw stuckFault;
  const untouched = [...stuck.keys(), ...pausedServices(before.containers), ...left];
  const replaceable = { sha, release, record: { ...record, services }, fingerprints, untouched };
  const replacement = await planReplacement(
    deps,
    { ...replaceable, problems, before: before.containers },
    signal,
  ).catch((error: unknown) => rethrowAsEngineFault(deps, error));
  // They serve until the replacement is over, unless a service that starts before it may need their ports.
  if (replacement === null || replacement.missing.size > 0)
    await removeOtherServices(deps, before.containers, { services });
  memory.lastComposeUp = composeUpNow(before.containers.map(startOf));
  await prepareCures(
    deps,
    problems.filter(({ service }) => !replacement?.replacements.some((each) => each.service === service)),
  );
  return { release, record, before, services, plan, untouched, stuckFault, replacement };
}

/**
 * The services to replace start-first. Their module is only loaded if the compose files of the release, or of the one
 * that a revert leaves, ask for it. It is also loaded if an earlier release left containers of several generations.
 */
async function planReplacement(
  deps: ComposeDependencies,
  {
    problems,
    before,
    ...found
  }: Omit<ReplaceableRelease, 'created' | 'bad' | 'left'> & {
    problems: readonly ServiceProblem[];
    before: readonly CreatedContainer[];
  },
  signal: AbortSignal,
) {
  const { attempt } = deps.state.state;
  const isLeft = found.fingerprints === undefined && attempt !== null && attempt.sha !== found.sha;
  const left = isLeft ? ((await deps.releases.readRecord(attempt.sha))?.services ?? []) : [];
  const { services } = found.record;
  const isAsked = [...services, ...left].some((each) => each.start_first !== undefined);
  if (!isAsked && comparedServices({ services, left, containers: before }).length === 0) return null;
  const { isKept, planReplacements } = await import('./startFirst.ts');
  const cured = problems.filter(({ cure }) => cure === 'restart' || cure === 'recreate');
  const bad = new Set(cured.flatMap((problem) => problem.containers));
  const created = await deps.containers.inspectProject();
  const plan = await planReplacements(deps, { ...found, left, created, bad }, signal);
  return plan && { ...plan, isKept: (container: CreatedContainer) => isKept(container, plan) };
}

/** True for a service that one of the others depends on, directly or indirectly. */
function isNeededBy(services: ReleaseRecord['services'], names: ReadonlySet<string>, service: string): boolean {
  const all = new Set(names);
  for (const name of all)
    for (const each of services.find((other) => other.name === name)?.after ?? []) all.add(each.name);
  return all.has(service);
}

/** Services with a paused container: compose fails when it is to start one. */
function pausedServices(before: readonly CreatedContainer[]): string[] {
  return before.filter(({ State }) => State.Status === 'paused').map(serviceOf);
}

/**
 * Throws UP_FAILED if two networks have the name of a project network: no container could join them, so no container is
 * stopped.
 */
export async function expectDistinctNetworks({ containers, project }: ComposeDependencies): Promise<void> {
  const [ambiguous] = ambiguousNetworks(await containers.networks(), project);
  if (ambiguous === undefined) return;
  const { name, ids } = ambiguous;
  const what = `${name}: ${ids.map((id) => id.slice(0, 12)).join(', ')}`;
  throw failedFault('UP_FAILED', describeCause({ name: 'network-ambiguous', what }));
}

function startOf({ Id, State }: CreatedContainer): { id: string; startedMs: number } {
  return { id: Id, startedMs: Date.parse(State.StartedAt ?? '') };
}

/** The healthcheck of each service that has a container. */
function healthchecksOf(created: readonly CreatedContainer[]): Map<string, EngineHealthcheck | null> {
  return new Map(created.map((container) => [serviceOf(container), container.Config.Healthcheck ?? null]));
}

/** Throws UP_FAILED with the container's name in place of a compose failure over a name that another container has. */
function rethrowAsTakenName(error: unknown): never {
  const tail = error instanceof Fault ? (error.tail ?? '') : '';
  const [, name] = /container name "\/?([^"]+)" is already in use/.exec(tail) ?? [];
  if (name === undefined) throw error;
  const line = `UP_FAILED: the container name ${printable(name)} is taken by another container`;
  throw new Fault('failed', line, { code: 'UP_FAILED', tail });
}

/**
 * Throws a start failure with the affected services and the last output of their containers, before a revert removes
 * them.
 */
async function rethrowWithCause(deps: ComposeDependencies, error: unknown): Promise<never> {
  const fault = await rethrowAsEngineFault(deps, error).catch((other: unknown) => other);
  if (!(fault instanceof Fault) || fault.code !== 'UP_FAILED') throw fault;
  const output = fault.tail ?? '';
  const { starts } = deps.memory.lastComposeUp;
  const found = await catchFault(() => deps.containers.list());
  const failed = found instanceof Fault ? [] : failedAtStart(found, { starts, output });
  if (failed.length === 0) throw fault;
  const watched = failed.map((container) => {
    const lastExit = container.state === 'created' ? null : container.exitCode;
    return { container, healthStatus: 'failed' as const, lastExit };
  });
  const services = [...new Set(failed.map(({ service }) => service))].sort();
  deps.recordDecision({ word: 'unhealthy', services });
  const { tail, cause } = await lastWordsOf(deps, failed);
  throw failedStartFault(fault, { tail, cause, services: describeUnhealthy(watched, services) });
}

/**
 * The same failure, with services and cause in its further line; the cause in a container may be more precise than the
 * message of compose.
 */
function failedStartFault(
  fault: Fault,
  { tail, cause, services }: { tail: string; cause: FoundCause | null; services: string },
): Fault {
  const told = causeSaid(fault.tail ?? '');
  const shown = told === null || told.name === 'dependency-failed' ? (cause ?? told) : told;
  const details = { code: 'UP_FAILED', tail: joinTails(fault.tail, tail), moreLines: [causeLine(shown, services)] };
  return new Fault('failed', fault.message, details);
}

/** If compose takes longer than this, it waits for dependencies, and the containers are watched meanwhile. */
const watchAfterMs = 1500;

/** The containers that compose has created, and the services to start; null for all. */
interface CreatedRelease {
  sha: Sha;
  release: ComposeRelease;
  record: ReleaseRecord;
  services: string[] | null;
  /** Services that are not awaited. */
  left: readonly string[];
  wait: ReleaseWait;
}

/**
 * Starts created containers. Compose waits for dependencies, and fails with them. A job that takes too long, a failed
 * job that is not awaited, and a crash loop end that wait at once with UNHEALTHY.
 */
async function startCreated(deps: ComposeDependencies, created: CreatedRelease, signal: AbortSignal): Promise<void> {
  const { compose } = deps;
  const { sha, release, services, wait } = created;
  const end = new AbortController();
  const ended = AbortSignal.any([signal, end.signal]);
  const start = (until: AbortSignal) => compose.up({ ...release, dependenciesS: wait.startS }, services, until);
  const running = startWithHooks(deps, { sha, start }, ended);
  const settled = running.then(
    () => end.abort(),
    () => end.abort(),
  );
  const isWaiting = await pause(watchAfterMs, true, { signal: ended }).catch(() => false);
  try {
    const fault = isWaiting ? await watchUntilEnd(deps, created, ended) : null;
    if (fault !== null) throw fault;
  } finally {
    if (isWaiting) end.abort();
    await settled;
  }
  await running;
}

/** UNHEALTHY once a container is found to be the cause; null when compose or the tick ends first. */
async function watchUntilEnd(
  deps: ComposeDependencies,
  created: CreatedRelease,
  ended: AbortSignal,
): Promise<Fault | null> {
  const watch = await watchRelease(deps, created);
  try {
    while (!ended.aborted) {
      const fault = await faultOf(deps, created, watch);
      if (fault !== null) return fault;
      await watch.next(watch.look().remainingMs, ended).catch((error: unknown) => {
        if (!(error instanceof Fault) || !ended.aborted) throw error;
      });
    }
    return null;
  } finally {
    watch.close();
  }
}

async function faultOf(
  deps: ComposeDependencies,
  { record }: CreatedRelease,
  watch: ReleaseWatch,
): Promise<Fault | null> {
  const { starts, atMs } = deps.memory.lastComposeUp;
  const hasFailed = ({ container, isJob }: WatchedContainer) =>
    isJob === true &&
    roleOf(record.services, container).job_by !== 'awaited' &&
    container.startedMs !== starts.get(container.id);
  const isBlamed = (each: WatchedContainer) =>
    each.healthStatus === 'failed' && (each.crashLoop !== null || each.job !== undefined || hasFailed(each));
  const blamed = watch.look().individually.filter(isBlamed);
  if (blamed.length === 0) return null;
  const names = new Set(blamed.map(({ container }) => container.service));
  const expected = expectedServices(record).filter(({ name }) => names.has(name));
  return unhealthyFault(deps, blamed, { expected, waitedMs: monotonicMs() - atMs });
}
