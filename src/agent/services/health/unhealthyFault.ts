import { Fault } from '../../../../machines/fault.ts';
import { causeLine } from '../../../core/failureCauses.rules.ts';
import {
  describeUnhealthy,
  type ExpectedService,
  unhealthyServicesAmong,
  type WatchedContainer,
} from '../../rules/health/unhealthyServices.ts';
import type { Dependencies } from '../dependencies.ts';
import { lastWordsOf } from './logTail.ts';

/** The fault UNHEALTHY: names each unhealthy service; its tail has the last log lines and health probes of their containers. */
export async function unhealthyFault(
  deps: Dependencies,
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
