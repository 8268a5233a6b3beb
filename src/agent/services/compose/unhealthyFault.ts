import { Fault } from '../../../../machines/fault.ts';
import { monotonicMs } from '../../../platform/clock.ts';
import {
  unhealthyServicesAmong,
  describeUnhealthy,
  type ExpectedService,
  type WatchedContainer,
} from '../../rules/health/unhealthyServices.ts';
import type { InspectedContainer } from '../../rules/health/health.ts';
import type { LogExcerpt } from '../../rules/health/containerLog.ts';
import type { Dependencies } from '../dependencies.ts';

/** Maximum length of the tail in characters. */
const TAIL_CHARS = 8 * 1024;

/** The fault UNHEALTHY: names each unhealthy service; its tail has the last log lines and health probes of their containers. */
export async function unhealthyFault(
  { containers, recordDecision, vault }: Dependencies,
  watched: WatchedContainer[],
  { expected, startedMs }: { expected: ExpectedService[]; startedMs: number },
): Promise<Fault> {
  const services = unhealthyServicesAmong(watched, expected);
  recordDecision({ word: 'unhealthy', services });
  const seconds = Math.round((monotonicMs() - startedMs) / 1000);
  const redactor = vault.redactor();
  const redactExcerpt = ({ text, truncated }: LogExcerpt) =>
    truncated ? `${redactor.redactTruncated(text)}...` : text;
  const logTailOf = async ({ id, name, healthLog }: InspectedContainer) => {
    const logs = await containers.logs(id).catch(() => []);
    const probes = healthLog.map((output) => `health: ${redactExcerpt(output)}`);
    const text = [...logs.map(redactExcerpt), ...new Set(probes)].map((part) => part.trim()).join('\n');
    return { name, text: redactor.redact(text) };
  };
  const unhealthy = watched.filter(
    ({ container, healthStatus }) => healthStatus !== 'healthy' && services.includes(container.service),
  );
  const tail = tailOf(await Promise.all(unhealthy.map(({ container }) => logTailOf(container))));
  const line = `failed: containers not healthy after ${seconds}s: ${describeUnhealthy(watched, services)}`;
  return new Fault('failed', line, { code: 'UNHEALTHY', tail });
}

/** Joins the log tails under the container names; every container gets an equal share of the length. */
function tailOf(logs: { name: string; text: string }[]): string {
  const share = Math.floor(TAIL_CHARS / Math.max(1, logs.length));
  return logs
    .map(({ name, text }) => {
      const head = `--- ${name}\n`;
      return `${head}${text.slice(-Math.max(1, share - head.length - 1))}`.trim();
    })
    .join('\n')
    .slice(-TAIL_CHARS);
}
