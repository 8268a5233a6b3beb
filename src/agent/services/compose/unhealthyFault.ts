import { Fault } from '../../../../machines/fault.ts';
import { monotonicMs } from '../../../platform/clock.ts';
import {
  unhealthyServicesAmong,
  describeUnhealthy,
  type ExpectedService,
  type WatchedContainer,
} from '../../rules/health/unhealthyServices.ts';
import type { Dependencies } from '../dependencies.ts';
import { logEndOf, logTailOf } from '../health/logTail.ts';

/** The fault UNHEALTHY: names each unhealthy service; its tail has the last log lines and health probes of their containers. */
export async function unhealthyFault(
  { containers, recordDecision, vault }: Dependencies,
  watched: WatchedContainer[],
  { expected, startedMs }: { expected: ExpectedService[]; startedMs: number },
): Promise<Fault> {
  const services = unhealthyServicesAmong(watched, expected);
  recordDecision({ word: 'unhealthy', services });
  const seconds = Math.round((monotonicMs() - startedMs) / 1000);
  const unhealthy = watched.filter(
    ({ container, healthStatus }) => healthStatus !== 'healthy' && services.includes(container.service),
  );
  const tail = logTailOf(
    await Promise.all(unhealthy.map(({ container }) => logEndOf({ containers, vault }, container))),
    { vault },
  );
  const line = `failed: containers not healthy after ${seconds}s: ${describeUnhealthy(watched, services)}`;
  return new Fault('failed', line, { code: 'UNHEALTHY', tail });
}
