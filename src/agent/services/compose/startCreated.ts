import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from '../../../../machines/fault.ts';
import { monotonicMs } from '../../../core/clock.ts';
import type { ComposeRelease } from '../../adapters/compose/compose.ts';
import { roleOf, type WatchedContainer } from '../../rules/health/unhealthyServices.ts';
import { expectedServices, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { type ReleaseWatch, watchRelease } from './releaseWatch.ts';
import { unhealthyFault } from '../health/unhealthyFault.ts';

/** Compose that takes longer than this waits for dependencies, so that the containers are watched meanwhile. */
const watchAfterMs = 1500;

/** The containers that compose has created, and the services to start; null for all. */
interface CreatedRelease {
  release: ComposeRelease;
  record: ReleaseRecord;
  services: string[] | null;
  /** Services that nobody waits for. */
  left: readonly string[];
}

/**
 * Starts created containers. Compose waits for those that others depend on, and fails with them. A job that takes too long or
 * that nobody waits for and fails, and a crash loop, end that wait at once: UNHEALTHY.
 */
export async function startCreated(deps: Dependencies, created: CreatedRelease, signal: AbortSignal): Promise<void> {
  const { compose, tick } = deps;
  const { release, services } = created;
  const end = new AbortController();
  const ended = AbortSignal.any([signal, end.signal]);
  const running = compose.up({ ...release, dependenciesS: tick.releaseWait?.startS ?? 0 }, services, ended);
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

/** UNHEALTHY once a container can be blamed; null when compose, or the tick, has ended before. */
async function watchUntilEnd(deps: Dependencies, created: CreatedRelease, ended: AbortSignal): Promise<Fault | null> {
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

async function faultOf(deps: Dependencies, { record }: CreatedRelease, watch: ReleaseWatch): Promise<Fault | null> {
  const { starts, atMs } = deps.tick.lastComposeUp;
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
