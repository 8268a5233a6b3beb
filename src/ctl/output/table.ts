import { displayWidth, harmless, shorten } from './text.ts';

/**
 * Aligned columns with a head. Where the table is wider than `width` columns, the widest cells are shortened; strings of
 * others are made harmless.
 */
export function formatTable(head: string[], rows: string[][], width: number): string {
  const cells = [head, ...rows].map((row) => row.map(harmless));
  const natural = head.map((_, column) => Math.max(...cells.map((row) => displayWidth(row[column] ?? ''))));
  const widths = fitWidths(natural, width - gap.length * (head.length - 1));
  return cells.map((row) => formatRow(row, widths)).join('\n');
}

/** One aligned line for each fact; null leaves a fact out. */
export function formatFacts(facts: [label: string, value: string | null][]): string {
  const known = facts.filter((fact): fact is [string, string] => fact[1] !== null);
  const width = Math.max(...known.map(([label]) => label.length));
  return known.map(([label, value]) => `${label.padEnd(width)}${gap}${harmless(value)}`).join('\n');
}

/** A fact for each warning of the service. */
export function warningFacts(warnings: string[]): [label: string, value: string][] {
  return warnings.map((warning) => ['warning', warning]);
}

const gap = '  ';
/** Columns that a cell keeps however narrow the terminal is. */
const minCellWidth = 8;

/** Takes columns from the widest until their sum fits. */
function fitWidths(natural: number[], available: number): number[] {
  const total = (limit: number) => natural.reduce((sum, width) => sum + Math.min(width, limit), 0);
  let limit = Math.max(minCellWidth, ...natural);
  while (limit > minCellWidth && total(limit) > available) limit--;
  return natural.map((width) => Math.min(width, limit));
}

function formatRow(row: string[], widths: number[]): string {
  const padded = row.map((cell, column) => {
    const width = widths[column] ?? 0;
    const text = shorten(cell, width);
    return text + ' '.repeat(Math.max(0, width - displayWidth(text)));
  });
  return padded.join(gap).trimEnd();
}
