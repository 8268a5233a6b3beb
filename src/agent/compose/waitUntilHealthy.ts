import { throwIfStopped } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import { monotonicMs, wallClockOffsetMs } from '../../core/clock.ts';
import type { InspectedContainer, TimedExit } from '../engine/container.rules.ts';
import type { Containers } from '../engine/containers.ts';
import {
  ContainerUptime,
  type CrashLoop,
  findCrashLoop,
  healthStatusOf,
  RestartCounts,
} from '../health/health.rules.ts';
import { unhealthyFault } from '../health/observeHost.ts';
import {
  type HealthSnapshot,
  roleOf,
  unhealthyServicesAmong,
  WaitVerdict,
  type WatchedContainer,
} from '../health/unhealthyServices.rules.ts';
import type { StartedRelease } from '../release/orchestrator.ts';
import { expectedServices, finishedServices, type ReleaseRecord } from '../release/record.rules.ts';
import { isFinished, isJob } from '../release/services.rules.ts';
import { type ComposeDependencies, rethrowAsEngineFault } from './observe.ts';

/**
 * Waits until every container of the release is healthy and every job has ended (spec §12), measured by a monotonic clock.
 * Throws UNHEALTHY with the logs of the unhealthy ones, or RUNTIME_UNAVAILABLE when the engine does not answer any more.
 */
export async function waitUntilHealthy(
  deps: ComposeDependencies,
  awaited: AwaitedRelease,
  signal: AbortSignal,
): Promise<void> {
  await watchUntilHealthy(deps, awaited, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
}

/** A release, and its services that are not awaited. */
interface AwaitedRelease extends StartedRelease {
  sha: Sha;
  left?: readonly string[];
}

async function watchUntilHealthy(
  deps: ComposeDependencies,
  { sha, wait, left = [] }: AwaitedRelease,
  signal: AbortSignal,
): Promise<void> {
  const { memory, releases, settings, tick } = deps;
  const record = await releases.readRecord(sha);
  const expected = expectedServices(record).filter(({ name }) => !left.includes(name));
  const startedMs = monotonicMs();
  const deadlineMs = startedMs + (wait?.healthS ?? settings.health_timeout_s) * 1000;
  const verdict = new WaitVerdict(expected, { deadlineMs, settleMs: settings.settle_s * 1000 });
  const watch = await watchRelease(deps, { record, left });
  try {
    for (;;) {
      const snapshot = watch.look();
      const { watched, nowMs, remainingMs } = snapshot;
      const done = watched.filter(({ healthStatus }) => healthStatus === 'healthy').length;
      tick.journal.progress = () => ({ done, total: watched.length, unit: 'containers' });
      if (unhealthyServicesAmong(watched, expected).length === 0) {
        memory.healthyContainers = watch.containers().map((container) => ({ ...container, healthLog: [] }));
        return;
      }
      const blamed = verdict.blamed(snapshot);
      if (blamed !== null) throw await unhealthyFault(deps, blamed, { expected, waitedMs: monotonicMs() - startedMs });
      await watch.next(Math.min(remainingMs, verdict.leftMs(nowMs)), signal);
    }
  } finally {
    watch.close();
  }
}

/** Containers of one service that are awaited alone, beside others of the same service. */
interface AwaitedContainers {
  record: ReleaseRecord;
  service: string;
  ids: readonly string[];
  /** Seconds within which they must be healthy. */
  waitS: number;
  /** Seconds for which they must then stay healthy. */
  monitorS: number;
}

/** Waits until these containers are healthy, and have been so for the monitored time. Throws UNHEALTHY, as above. */
export async function waitForContainers(
  deps: ComposeDependencies,
  awaited: AwaitedContainers,
  signal: AbortSignal,
): Promise<void> {
  await watchContainersOf(deps, awaited, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
}

async function watchContainersOf(
  deps: ComposeDependencies,
  { record, service, ids, waitS, monitorS }: AwaitedContainers,
  signal: AbortSignal,
): Promise<void> {
  const expected = record.services
    .filter(({ name }) => name === service)
    .map((each) => ({ ...each, replicas: ids.length }));
  const startedMs = monotonicMs();
  const deadlineMs = startedMs + (waitS + monitorS) * 1000;
  const verdict = new WaitVerdict(expected, { deadlineMs, settleMs: deps.settings.settle_s * 1000 });
  const watch = await watchRelease(deps, { record, left: [], only: new Set(ids) });
  let healthyMs: number | null = null;
  try {
    for (;;) {
      const snapshot = watch.look();
      const isHealthy = unhealthyServicesAmong(snapshot.watched, expected).length === 0;
      healthyMs = isHealthy ? (healthyMs ?? snapshot.nowMs) : null;
      const monitoredMs = healthyMs === null ? Infinity : healthyMs + monitorS * 1000 - snapshot.nowMs;
      if (monitoredMs <= 0) return;
      const blamed = isHealthy ? null : verdict.blamed(snapshot);
      if (blamed !== null) throw await unhealthyFault(deps, blamed, { expected, waitedMs: monotonicMs() - startedMs });
      await watch.next(Math.min(snapshot.remainingMs, verdict.leftMs(snapshot.nowMs), monitoredMs), signal);
    }
  } finally {
    watch.close();
  }
}

/** Watches the health of a release's containers from the last `compose up` on. */
export interface ReleaseWatch extends Pick<ContainerWatch, 'next' | 'close' | 'containers'> {
  /** The current health, without the containers of finished services and services that are not awaited. */
  look: () => HealthSnapshot;
}

/** A release, and its services that are not awaited. */
interface WatchedRelease {
  record: ReleaseRecord | null;
  left: readonly string[];
  /** Ids of the only containers that are looked at; all by default. */
  only?: ReadonlySet<string>;
}

/** Opens a watch; close it in any case. */
export async function watchRelease(
  deps: ComposeDependencies,
  { record, left, only }: WatchedRelease,
): Promise<ReleaseWatch> {
  const { lastComposeUp } = deps.memory;
  const watch = await watchContainers(deps.containers, lastComposeUp.atMs + lastComposeUp.clockOffsetMs);
  const ignored = new Set([...finishedServices(record), ...left]);
  const snapshotOf = snapshotterOf(deps, { watch, services: record?.services ?? [] });
  return {
    ...watch,
    look: () =>
      snapshotOf(watch.containers().filter(({ id, service }) => !ignored.has(service) && only?.has(id) !== false)),
  };
}

interface SnapshotSource {
  watch: ContainerWatch;
  services: ReleaseRecord['services'];
}

function snapshotterOf(
  { settings, memory }: ComposeDependencies,
  source: SnapshotSource,
): (containers: InspectedContainer[]) => HealthSnapshot {
  const settleMs = settings.settle_s * 1000;
  const uptime = new ContainerUptime(memory.lastComposeUp);
  const judge = containerJudge(source, settings.job_timeout_s);
  return (containers) => {
    const nowMs = monotonicMs();
    const clocks = { nowMs, aheadMs: wallClockOffsetMs() };
    const runs = containers.map((container) => ({ container, sinceMs: uptime.runningSinceMs(container, clocks) }));
    const lastStartMs = Math.max(memory.lastComposeUp.atMs, ...runs.flatMap(({ sinceMs }) => sinceMs ?? []));
    const isSettled = (sinceMs: number | null) => sinceMs !== null && nowMs - sinceMs >= settleMs;
    const judged = runs.map(({ container, sinceMs }) => {
      const judgement = judge(container, { nowMs, sinceMs });
      const inTime = sinceMs === null ? null : lastStartMs;
      return { alone: judgement(isSettled(sinceMs)), together: judgement(isSettled(inTime)) };
    });
    const individually = judged.map(({ alone }) => alone);
    const jobEndsMs = individually.flatMap(({ job }) => (job ? job.sinceMs + settings.job_timeout_s * 1000 : []));
    const ends = [lastStartMs + settleMs, ...jobEndsMs].filter((endMs) => endMs > nowMs);
    const remainingMs = Math.min(...ends) - nowMs;
    return { nowMs, watched: judged.map(({ together }) => together), individually, remainingMs };
  };
}

/** Determines the health of a container from the events during the watch, then from whether it has settled. */
function containerJudge({ watch, services }: SnapshotSource, jobTimeoutS: number) {
  const observedExits = new Map<string, number>();
  const jobOf = jobClock(jobTimeoutS);
  const crashLoopOf = crashLoopFinder(watch);
  return (container: InspectedContainer, { nowMs, sinceMs }: { nowMs: number; sinceMs: number | null }) => {
    const { id, state, exitCode } = container;
    if (hasExited(state)) observedExits.set(id, exitCode);
    const role = roleOf(services, container);
    const lastExit = observedExits.get(id) ?? watch.exits.get(id) ?? null;
    const crashLoop = isFinished(container, role) ? null : crashLoopOf(container, { nowMs, code: lastExit ?? 0 });
    const isOneShot = isJob(role, container);
    const job = isOneShot ? jobOf(container, sinceMs, nowMs) : undefined;
    const hasFailed = crashLoop !== null || (job?.overdueS ?? null) !== null;
    return (settled: boolean): WatchedContainer => ({
      ...{ container, lastExit, crashLoop, isJob: isOneShot, ...(job && { job }) },
      healthStatus: hasFailed ? 'failed' : healthStatusOf(container, settled, role),
    });
  };
}

/** Start of each running job, across its restarts; undefined for a job that has not started or has ended. */
function jobClock(timeoutS: number) {
  const since = new Map<string, number>();
  return ({ id, state }: InspectedContainer, runningSinceMs: number | null, nowMs: number) => {
    const began = since.get(id) ?? runningSinceMs ?? (state === 'restarting' ? nowMs : null);
    if (began === null || state === 'exited' || state === 'dead') return undefined;
    since.set(id, began);
    return { sinceMs: began, overdueS: nowMs - began >= timeoutS * 1000 ? timeoutS : null };
  };
}

/** Crash loops by the engine's events, or by restart counts while there are no events. */
function crashLoopFinder({ recentExits }: ContainerWatch) {
  const counts = new RestartCounts();
  return (container: InspectedContainer, now: { nowMs: number; code: number }): CrashLoop | null =>
    findCrashLoop(container, recentExits(container.id) ?? []) ??
    findCrashLoop(container, counts.exitsOf(container, now));
}

function hasExited(state: string): boolean {
  return state === 'restarting' || state === 'exited' || state === 'dead';
}

/** Milliseconds between two queries of all containers while the event stream works. */
const livePollMs = 10_000;

/** The interval without events: a tenth of the elapsed wait, within these bounds. */
const [minPollMs, maxPollMs] = [100, 500];

/** Watches the containers of the project's services. */
interface ContainerWatch {
  /** Latest known state, sorted by name. */
  containers: () => InspectedContainer[];
  /** Last exit code of each container since `sinceMs`, by id. */
  exits: ReadonlyMap<string, number>;
  /** The last exits of a container, oldest first; null while the engine sends no events. */
  recentExits: (id: string) => readonly TimedExit[] | null;
  /** Waits until a container changes, at most `maxMs`. Throws Fault `stopped`, or the fault of the engine. */
  next: (maxMs: number, signal: AbortSignal) => Promise<void>;
  close: () => void;
}

/**
 * Follows the event stream of the engine and inspects only containers that changed. Events may be missing or lost, so all
 * containers are queried from time to time and after every wait without an event. Exits count from `sinceMs` on (wall clock).
 */
async function watchContainers(containers: Containers, sinceMs: number): Promise<ContainerWatch> {
  const events = await containers.subscribeToEvents(sinceMs);
  const known = new Map<string, InspectedContainer>();
  const startedMs = monotonicMs();
  let queriedMs = startedMs;
  const queryAll = async () => {
    queriedMs = monotonicMs();
    const all = await containers.list();
    known.clear();
    for (const container of all) known.set(container.id, container);
  };
  const refresh = async (id: string) => {
    const found = await containers.inspect({ id });
    if (found === null || found.oneOff) known.delete(id);
    else known.set(id, found);
  };
  const dueMs = () => {
    const pollMs = Math.min(Math.max((monotonicMs() - startedMs) / 10, minPollMs), maxPollMs);
    return queriedMs + (events.isLive() ? livePollMs : pollMs) - monotonicMs();
  };
  events.takeChanged();
  await queryAll().catch((error: unknown) => {
    events.close();
    throw error;
  });
  return {
    containers: () => [...known.values()].sort((a, b) => (a.name < b.name ? -1 : 1)),
    exits: events.exitCodes,
    recentExits: (id) => (events.isLive() ? (events.exits.get(id) ?? []) : null),
    next: async (maxMs, signal) => {
      await events.waitForNext(Math.min(maxMs, dueMs()), signal);
      throwIfStopped(signal);
      const changed = events.takeChanged();
      if (changed.length > 0 && dueMs() > 0) await Promise.all(changed.map(refresh));
      else await queryAll();
    },
    close: events.close,
  };
}
