import type { Vault } from '../../secrets/vault.ts';
import type { LogExcerpt } from '../../rules/health/containerLog.ts';

/** Maximum length of the tail in characters. */
const TAIL_CHARS = 8 * 1024;

/** The text of excerpts without values of secrets; half a one at the end of a cut line is gone too. */
export function redactExcerpts({ vault }: { vault: Vault }, excerpts: readonly LogExcerpt[]): string[] {
  const redactor = vault.redactor();
  return excerpts.map(({ text, truncated }) => (truncated ? `${redactor.redactTruncated(text)}...` : text));
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
