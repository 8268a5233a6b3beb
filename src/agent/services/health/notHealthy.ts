import { Fault } from '../../../../machines/fault.ts';
import { clockMs } from '../../journal/clock.ts';
import { ailingOf, describeAiling, type Expected, type Watched } from '../../rules/health/unhealthyServices.ts';
import type { Inspected } from '../../rules/health/health.ts';
import type { Written } from '../../rules/health/containerLog.ts';
import type { Tools } from '../tools.ts';

const TAIL_CHARS = 8 * 1024;

/** UNHEALTHY, with each service that is not well, and what its containers wrote last. */
export async function notHealthy(
  { containers, note, vault }: Tools,
  watched: Watched[],
  { expected, beganMs }: { expected: Expected[]; beganMs: number },
): Promise<Fault> {
  const ailing = ailingOf(watched, expected);
  note({ word: 'ailing', services: ailing });
  const seconds = Math.round((clockMs() - beganMs) / 1000);
  const redactor = vault.redactor();
  const shown = ({ text, cut }: Written) => (cut ? `${redactor.redactHead(text)}...` : text);
  const writtenBy = async ({ id, name, healthLog }: Inspected) => {
    const logs = await containers.logs(id).catch(() => []);
    const probes = healthLog.map((output) => `health: ${shown(output)}`);
    const text = [...logs.map(shown), ...new Set(probes)].map((part) => part.trim()).join('\n');
    return { name, text: redactor.redact(text) };
  };
  const sick = watched.filter(({ container, wellness }) => wellness !== 'well' && ailing.includes(container.service));
  const tail = tailOf(await Promise.all(sick.map(({ container }) => writtenBy(container))));
  const line = `failed: containers not healthy after ${seconds}s: ${describeAiling(watched, ailing)}`;
  return new Fault('failed', line, { code: 'UNHEALTHY', tail });
}

/** The end of what each container wrote, under its name; a talkative one takes no more than its share. */
function tailOf(written: { name: string; text: string }[]): string {
  const share = Math.floor(TAIL_CHARS / Math.max(1, written.length));
  return written
    .map(({ name, text }) => {
      const head = `--- ${name}\n`;
      return `${head}${text.slice(-Math.max(1, share - head.length - 1))}`.trim();
    })
    .join('\n')
    .slice(-TAIL_CHARS);
}
