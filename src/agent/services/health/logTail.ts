import { Fault } from '../../../../machines/fault.ts';
import { causePrinted, causeSaid, type FoundCause } from '../../../core/failureCauses.rules.ts';
import type { Vault } from '../../secrets/vault.ts';
import type { ServiceProblem } from '../../../../machines/types.ts';
import type { LogExcerpt } from '../../rules/health/containerLog.ts';
import type { InspectedContainer } from '../../rules/health/health.ts';
import type { Dependencies } from '../dependencies.ts';

/** Maximum length of the tail in characters. */
const TAIL_CHARS = 8 * 1024;

/** The text of excerpts without values of secrets; half a one at the end of a cut line is gone too. */
export function redactExcerpts({ vault }: { vault: Vault }, excerpts: readonly LogExcerpt[]): string[] {
  const redactor = vault.redactor();
  return excerpts.map(({ text, truncated }) => (truncated ? `${redactor.redactTruncated(text)}...` : text));
}

/** The ends of the logs of the containers that failed, and of their health probes; null when there is none. */
export async function tailOfProblems(
  { containers, vault }: Pick<Dependencies, 'containers' | 'vault'>,
  problems: readonly ServiceProblem[],
): Promise<string | null> {
  const ids = [...new Set(problems.filter(({ isFailure }) => isFailure).flatMap((problem) => problem.containers))];
  if (ids.length === 0) return null;
  const logs = await Promise.all(ids.map((id) => readEnd({ containers, vault }, id).catch(() => null)));
  return (
    logTailOf(
      logs.filter((log) => log !== null),
      { vault },
    ) || null
  );
}

async function readEnd({ containers, vault }: Pick<Dependencies, 'containers' | 'vault'>, id: string) {
  const container = await containers.inspect({ id });
  return container && logEndOf({ containers, vault }, container);
}

/** The last lines of a container's log, and the distinct outputs of its last health probes, redacted; and why it did not start. */
export async function logEndOf(
  { containers, vault }: Pick<Dependencies, 'containers' | 'vault'>,
  { id, name, healthLog, startError }: InspectedContainer,
): Promise<{ name: string; logs: string[]; lines: string[] }> {
  const logs = redactExcerpts({ vault }, await containers.logs(id).catch(unreadableLog));
  const probes = redactExcerpts({ vault }, healthLog).map((output) => `health: ${output}`);
  const engine = startError === '' ? [] : [`engine: ${startError}`];
  return { name, logs, lines: [...logs, ...new Set(probes), ...engine] };
}

/** The ends of the logs of containers as one tail, and what they explain. */
export async function lastWordsOf(
  deps: Pick<Dependencies, 'containers' | 'vault'>,
  failed: readonly InspectedContainer[],
): Promise<{ tail: string; cause: FoundCause | null }> {
  const ends = await Promise.all(failed.map((container) => logEndOf(deps, container)));
  const errors = failed.map(({ startError }) => startError).join('\n');
  const printed = ends.flatMap(({ logs }) => logs).join('\n');
  return { tail: logTailOf(ends, deps), cause: causeSaid(errors) ?? causePrinted(printed) };
}

/** What a report has in place of a log that the engine did not show. */
export function unreadableLog(error: unknown): LogExcerpt[] {
  const why = error instanceof Fault ? error.message : 'the engine sent something else';
  return [{ text: `its log cannot be read: ${why}`, truncated: false }];
}

/** Joins logs under their names for a report, redacted; each gets an equal share of the length. */
export function logTailOf(
  logs: readonly { name: string; lines: readonly string[] }[],
  { vault }: { vault: Vault },
): string {
  const redactor = vault.redactor();
  const share = Math.floor(TAIL_CHARS / Math.max(1, logs.length));
  return logs
    .map(({ name, lines }) => {
      const text = redactor.redact(lines.map((line) => line.trim()).join('\n'));
      const head = `--- ${name}\n`;
      return `${head}${text.slice(-Math.max(1, share - head.length - 1))}`.trim();
    })
    .join('\n')
    .slice(-TAIL_CHARS);
}

/** Two redacted tails as one; the first gets a quarter of the length, unless the second needs less. */
export function joinTails(first: string | null, second: string): string {
  const head = (first ?? '').trimEnd();
  const room = Math.max(TAIL_CHARS / 4, TAIL_CHARS - second.length - 1);
  const parts = [head.slice(-room), second].filter((part) => part !== '');
  return parts.join('\n').slice(-TAIL_CHARS);
}
