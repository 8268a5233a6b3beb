import type { Check, Diagnosis } from './diagnosis.ts';
import { terminalSafe } from '../status/terminalSafe.ts';

const verdictLabels: Record<Check['verdict'], string> = {
  well: 'well',
  wrong: 'WRONG',
  unseen: 'not seen',
  'not applicable': 'n/a',
};

/** The diagnosis as text: one row for each check, its findings with their fixes below it, and a summary at the end. */
export function formatDiagnosis({ well, checks }: Diagnosis): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const rows = checks.flatMap(({ name, verdict, told, findings }) => [
    `${name.padEnd(width)}  ${verdictLabels[verdict].padEnd(8)}  ${told}`,
    ...findings.flatMap(({ what, fix }) => [`${indent(width)}${what}`, `${indent(width)}  fix: ${fix}`]),
  ]);
  return [...rows, '', well ? 'all is well' : formatSummary(checks)].map(terminalSafe).join('\n');
}

function indent(width: number): string {
  return ' '.repeat(width + 2);
}

function formatSummary(checks: Check[]): string {
  const faults = checks.reduce((sum, { findings }) => sum + findings.length, 0);
  const hidden = checks.filter(({ verdict }) => verdict === 'unseen').map(({ name }) => name);
  const wrong = faults === 0 ? 'nothing wrong was seen' : `${faults} ${faults === 1 ? 'fault' : 'faults'}`;
  return hidden.length === 0 ? wrong : `${wrong}; not seen: ${hidden.join(', ')}`;
}
