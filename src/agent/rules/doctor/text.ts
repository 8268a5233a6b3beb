import type { Check, Diagnosis } from './doctor.ts';

const words: Record<Check['verdict'], string> = {
  well: 'well',
  wrong: 'WRONG',
  unseen: 'not seen',
  'not applicable': 'n/a',
};

/** The diagnosis for people: one row a check, what is wrong and its cure below it, and the sum at the end. */
export function doctorText({ well, checks }: Diagnosis): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const rows = checks.flatMap(({ name, verdict, told, findings }) => [
    `${name.padEnd(width)}  ${words[verdict].padEnd(8)}  ${told}`,
    ...findings.flatMap(({ what, fix }) => [`${indent(width)}${what}`, `${indent(width)}  fix: ${fix}`]),
  ]);
  return [...rows, '', well ? 'all is well' : sumOf(checks)].map(printable).join('\n');
}

function indent(width: number): string {
  return ' '.repeat(width + 2);
}

function sumOf(checks: Check[]): string {
  const faults = checks.reduce((sum, { findings }) => sum + findings.length, 0);
  const hidden = checks.filter(({ verdict }) => verdict === 'unseen').map(({ name }) => name);
  const wrong = faults === 0 ? 'nothing wrong was seen' : `${faults} ${faults === 1 ? 'fault' : 'faults'}`;
  return hidden.length === 0 ? wrong : `${wrong}; not seen: ${hidden.join(', ')}`;
}

/** Some of it comes from elsewhere; nothing in it may move the cursor. */
function printable(line: string): string {
  return line.replace(/\p{Cc}+/gu, ' ');
}
