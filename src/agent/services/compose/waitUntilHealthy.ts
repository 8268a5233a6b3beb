import type { Sha } from '../../../../machines/types.ts';
import { monotonicMs, wallClockOffsetMs } from '../../../platform/clock.ts';
import { unhealthyServicesAmong, type WatchedContainer } from '../../rules/health/unhealthyServices.ts';
import { healthStatusOf, type InspectedContainer } from '../../rules/health/health.ts';
import { expectedServices } from '../../rules/release/releaseRecord.ts';
import { ContainerUptime } from '../../rules/health/containerUptime.ts';
import { watchContainers, type ContainerWatch } from './containerWatch.ts';
import { rethrowAsEngineFault } from './startRelease.ts';
import { unhealthyFault } from './unhealthyFault.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Waits until every container of the release is healthy (spec §12), measured by a monotonic clock. Throws UNHEALTHY with the
 * logs of the unhealthy ones, or RUNTIME_UNAVAILABLE when the engine does not answer any more.
 */
export async function waitUntilHealthy(
  deps: Dependencies,
  awaited: AwaitedRelease,
  signal: AbortSignal,
): Promise<void> {
  await watchUntilHealthy(deps, awaited, signal).catch((error: unknown) => rethrowAsEngineFault(deps, error));
}

/** A release, and its services that nobody waits for. */
interface AwaitedRelease {
  sha: Sha;
  left?: readonly string[];
}

async function watchUntilHealthy(
  deps: Dependencies,
  { sha, left = [] }: AwaitedRelease,
  signal: AbortSignal,
): Promise<void> {
  const { containers, releases, settings, tick } = deps;
  const isAwaited = (service: string) => !left.includes(service);
  const expected = expectedServices(await releases.readRecord(sha)).filter(({ name }) => isAwaited(name));
  const startedMs = monotonicMs();
  const deadlineMs = startedMs + settings.health_timeout_s * 1000;
  const watch = await watchContainers(containers, tick.lastComposeUp.atMs + tick.lastComposeUp.clockOffsetMs);
  const snapshot = snapshotterOf(deps, watch);
  try {
    for (;;) {
      const { watched, individually, remainingMs } = snapshot(
        watch.containers().filter(({ service }) => isAwaited(service)),
      );
      const done = watched.filter(({ healthStatus }) => healthStatus === 'healthy').length;
      tick.readProgress = () => ({ done, total: watched.length, unit: 'containers' });
      if (unhealthyServicesAmong(watched, expected).length === 0) {
        tick.healthyContainers = watched.map(({ container }) => ({ ...container, healthLog: [] }));
        return;
      }
      if (monotonicMs() >= deadlineMs || watched.some(({ healthStatus }) => healthStatus === 'failed')) {
        const causes = unhealthyServicesAmong(individually, expected).length > 0 ? individually : watched;
        throw await unhealthyFault(deps, causes, { expected, startedMs });
      }
      await watch.next(Math.min(remainingMs, deadlineMs - monotonicMs()), signal);
    }
  } finally {
    watch.close();
  }
}

/** Health of the containers at one moment. */
interface HealthSnapshot {
  /** All containers settle from the last start of any, since a new container may break one that ran before. */
  watched: WatchedContainer[];
  /** Each container settles by itself: so a failed wait does not blame one that only waited for another. */
  individually: WatchedContainer[];
  /** Milliseconds until the running containers have settled; Infinity when they have. */
  remainingMs: number;
}

function snapshotterOf(
  { settings, tick }: Dependencies,
  { exits }: ContainerWatch,
): (containers: InspectedContainer[]) => HealthSnapshot {
  const settleMs = settings.settle_s * 1000;
  const uptime = new ContainerUptime(tick.lastComposeUp);
  const observedExits = new Map<string, number>();
  return (containers) => {
    const nowMs = monotonicMs();
    const clocks = { nowMs, aheadMs: wallClockOffsetMs() };
    const runningSince = new Map(
      containers.map((container) => [container.id, uptime.runningSinceMs(container, clocks)]),
    );
    for (const { id, state, exitCode } of containers) if (hasExited(state)) observedExits.set(id, exitCode);
    const lastStartMs = Math.max(
      tick.lastComposeUp.atMs,
      ...[...runningSince.values()].filter((each) => each !== null),
    );
    const isSettled = (sinceMs: number | null) => sinceMs !== null && nowMs - sinceMs >= settleMs;
    const watchedOf = (container: InspectedContainer, sinceMs: number | null): WatchedContainer => ({
      container,
      healthStatus: healthStatusOf(container, isSettled(sinceMs)),
      lastExit: observedExits.get(container.id) ?? exits.get(container.id) ?? null,
    });
    return {
      watched: containers.map((each) => watchedOf(each, runningSince.get(each.id) === null ? null : lastStartMs)),
      individually: containers.map((each) => watchedOf(each, runningSince.get(each.id) ?? null)),
      remainingMs: nowMs - lastStartMs < settleMs ? lastStartMs + settleMs - nowMs : Infinity,
    };
  };
}

function hasExited(state: string): boolean {
  return state === 'restarting' || state === 'exited' || state === 'dead';
}
