import type { TickScope } from '../tickScope.ts';

/** Lines of one kind that one report has. */
const maxLines = 20;

/** Writes what nothing is refused for to the journal and the report; lines that are there already are left out. */
export function tellRemarks(tick: TickScope, kind: string, found: readonly string[]): void {
  const lines = found.map((each) => `${kind}: ${each}`).filter((line) => !tick.remarks.includes(line));
  const more = lines.length > maxLines ? [`${kind}: and ${lines.length - maxLines} more`] : [];
  for (const line of [...lines.slice(0, maxLines), ...more]) {
    tick.journal.info(line);
    tick.remarks.push(line);
  }
}
