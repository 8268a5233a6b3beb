import type { Check, Diagnosis } from './diagnosis.ts';
import { terminalSafe } from '../platform/text/terminalSafe.ts';

/** The words of the output for each status: a label in the text, and `verdict` in JSON (spec §2). */
const statusWords: Record<Check['status'], { label: string; verdict: string }> = {
  passed: { label: 'ok', verdict: 'well' },
  failed: { label: 'FAIL', verdict: 'wrong' },
  unknown: { label: 'unknown', verdict: 'unseen' },
  'not applicable': { label: 'n/a', verdict: 'not applicable' },
};

/** The diagnosis as text: one row for each check, its findings with their fixes below it, and a summary at the end. */
export function formatDiagnosis({ passed, checks }: Diagnosis): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  const rows = checks.flatMap(({ name, status, detail, findings }) => [
    `${name.padEnd(width)}  ${statusWords[status].label.padEnd(7)}  ${detail}`,
    ...findings.flatMap(({ problem, fix }) => [`${indent(width)}${problem}`, `${indent(width)}  fix: ${fix}`]),
  ]);
  return [...rows, '', passed ? 'all checks passed' : formatSummary(checks)].map(terminalSafe).join('\n');
}

/** The diagnosis as JSON, the output of `deployd doctor --json` (spec §2). */
export function diagnosisJson({ passed, checks }: Diagnosis): string {
  const rows = checks.map(({ name, status, detail, findings }) => ({
    ...{ name, verdict: statusWords[status].verdict, told: detail },
    findings: findings.map(({ problem, fix }) => ({ what: problem, fix })),
  }));
  return JSON.stringify({ well: passed, checks: rows }, null, 2);
}

function indent(width: number): string {
  return ' '.repeat(width + 2);
}

function formatSummary(checks: Check[]): string {
  const faults = checks.reduce((sum, { findings }) => sum + findings.length, 0);
  const unknown = checks.filter(({ status }) => status === 'unknown').map(({ name }) => name);
  const failed = faults === 0 ? 'no faults found' : `${faults} ${faults === 1 ? 'fault' : 'faults'}`;
  return unknown.length === 0 ? failed : `${failed}; unknown: ${unknown.join(', ')}`;
}
