import type { Sha } from '../../../../machines/types.ts';
import { monotonicMs } from '../../../core/clock.ts';
import { unhealthyServicesAmong } from '../../rules/health/unhealthyServices.ts';
import { WaitVerdict } from '../../rules/health/waitVerdict.ts';
import { expectedServices } from '../../rules/release/releaseRecord.ts';
import { watchRelease } from './releaseWatch.ts';
import { rethrowAsEngineFault } from './startRelease.ts';
import { unhealthyFault } from '../health/unhealthyFault.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Waits until every container of the release is healthy and every job has ended (spec §12), measured by a monotonic clock.
 * Throws UNHEALTHY with the logs of the unhealthy ones, or RUNTIME_UNAVAILABLE when the engine does not answer any more.
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
  const { releases, settings, tick } = deps;
  const record = await releases.readRecord(sha);
  const expected = expectedServices(record).filter(({ name }) => !left.includes(name));
  const startedMs = monotonicMs();
  const deadlineMs = startedMs + (tick.releaseWait?.healthS ?? settings.health_timeout_s) * 1000;
  const verdict = new WaitVerdict(expected, { deadlineMs, settleMs: settings.settle_s * 1000 });
  const watch = await watchRelease(deps, { record, left });
  try {
    for (;;) {
      const snapshot = watch.look();
      const { watched, nowMs, remainingMs } = snapshot;
      const done = watched.filter(({ healthStatus }) => healthStatus === 'healthy').length;
      tick.readProgress = () => ({ done, total: watched.length, unit: 'containers' });
      if (unhealthyServicesAmong(watched, expected).length === 0) {
        tick.healthyContainers = watch.containers().map((container) => ({ ...container, healthLog: [] }));
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
