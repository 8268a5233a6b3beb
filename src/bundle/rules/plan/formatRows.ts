import { terminalSafe } from '../../../platform/text/terminalSafe.ts';

/** A label, and a line for each of its values. */
export type Row = [label: string, values: string[]];

/** Aligned rows below a headline, safe for a terminal; rows without values are left out. */
export function formatRows(headlines: readonly string[], rows: readonly Row[]): string {
  const shown = rows.filter(([, values]) => values.length > 0);
  const width = Math.max(...shown.map(([label]) => label.length));
  const lines = shown.flatMap(([label, values]) =>
    values.map((value, index) => `  ${(index === 0 ? label : '').padEnd(width)}  ${value}`),
  );
  return [...headlines, ...lines].map(terminalSafe).join('\n');
}
