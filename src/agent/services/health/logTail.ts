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

/** The last lines of a container's log, and the distinct outputs of its last health probes, redacted. */
export async function logEndOf(
  { containers, vault }: Pick<Dependencies, 'containers' | 'vault'>,
  { id, name, healthLog }: Pick<InspectedContainer, 'id' | 'name' | 'healthLog'>,
): Promise<{ name: string; lines: string[] }> {
  const logs = redactExcerpts({ vault }, await containers.logs(id).catch(() => []));
  const probes = redactExcerpts({ vault }, healthLog).map((output) => `health: ${output}`);
  return { name, lines: [...logs, ...new Set(probes)] };
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
