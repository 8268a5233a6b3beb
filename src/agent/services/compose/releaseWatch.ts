import { monotonicMs, wallClockOffsetMs } from '../../../core/clock.ts';
import { ContainerUptime } from '../../rules/health/containerUptime.ts';
import { type CrashLoop, findCrashLoop, RestartCounts } from '../../rules/health/crashLoop.ts';
import { healthStatusOf, type InspectedContainer, isFinished, isJob } from '../../rules/health/health.ts';
import { roleOf, type WatchedContainer } from '../../rules/health/unhealthyServices.ts';
import type { HealthSnapshot } from '../../rules/health/waitVerdict.ts';
import { finishedServices, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { type ContainerWatch, watchContainers } from './containerWatch.ts';

/** Watches the health of a release's containers from the last `compose up` on. */
export interface ReleaseWatch extends Pick<ContainerWatch, 'next' | 'close' | 'containers'> {
  /** The health now. The containers of finished services, and of those that nobody waits for, are left out. */
  look: () => HealthSnapshot;
}

/** A release, and its services that nobody waits for. */
export interface WatchedRelease {
  record: ReleaseRecord | null;
  left: readonly string[];
}

/** Opens a watch; close it in any case. */
export async function watchRelease(deps: Dependencies, { record, left }: WatchedRelease): Promise<ReleaseWatch> {
  const { containers, tick } = deps;
  const watch = await watchContainers(containers, tick.lastComposeUp.atMs + tick.lastComposeUp.clockOffsetMs);
  const ignored = new Set([...finishedServices(record), ...left]);
  const snapshotOf = snapshotterOf(deps, { watch, services: record?.services ?? [] });
  return {
    ...watch,
    look: () => snapshotOf(watch.containers().filter(({ service }) => !ignored.has(service))),
  };
}

interface SnapshotSource {
  watch: ContainerWatch;
  services: ReleaseRecord['services'];
}

function snapshotterOf(
  { settings, tick }: Dependencies,
  source: SnapshotSource,
): (containers: InspectedContainer[]) => HealthSnapshot {
  const settleMs = settings.settle_s * 1000;
  const uptime = new ContainerUptime(tick.lastComposeUp);
  const judge = containerJudge(source, settings.job_timeout_s);
  return (containers) => {
    const nowMs = monotonicMs();
    const clocks = { nowMs, aheadMs: wallClockOffsetMs() };
    const runs = containers.map((container) => ({ container, sinceMs: uptime.runningSinceMs(container, clocks) }));
    const lastStartMs = Math.max(tick.lastComposeUp.atMs, ...runs.flatMap(({ sinceMs }) => sinceMs ?? []));
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

/** Judges a container by what was seen of it during the watch, then by whether it has settled. */
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

/** Since when each job runs, over its restarts; undefined for one that has not begun or has ended. */
function jobClock(timeoutS: number) {
  const since = new Map<string, number>();
  return ({ id, state }: InspectedContainer, runningSinceMs: number | null, nowMs: number) => {
    const began = since.get(id) ?? runningSinceMs ?? (state === 'restarting' ? nowMs : null);
    if (began === null || state === 'exited' || state === 'dead') return undefined;
    since.set(id, began);
    return { sinceMs: began, overdueS: nowMs - began >= timeoutS * 1000 ? timeoutS : null };
  };
}

/** Crash loops by the engine's events, or by restart counts while it sends none. */
function crashLoopFinder({ recentExits }: ContainerWatch) {
  const counts = new RestartCounts();
  return (container: InspectedContainer, now: { nowMs: number; code: number }): CrashLoop | null =>
    findCrashLoop(container, recentExits(container.id) ?? []) ??
    findCrashLoop(container, counts.exitsOf(container, now));
}

function hasExited(state: string): boolean {
  return state === 'restarting' || state === 'exited' || state === 'dead';
}
