/** One problem of this host, and a command that fixes it. */
export interface Finding {
  problem: string;
  fix: string;
}

/** The result of one check. `detail` describes what was found, or why the check was not possible. */
export interface Check {
  name: string;
  status: 'passed' | 'failed' | 'unknown' | 'not applicable';
  detail: string;
  findings: Finding[];
}

/** The result of a command `doctor`: `passed` when no check failed and every check was possible. */
export interface Diagnosis {
  passed: boolean;
  checks: Check[];
}

/** The checks as one diagnosis. */
export function diagnosisOf(checks: Check[]): Diagnosis {
  return { passed: checks.every(({ status }) => status === 'passed' || status === 'not applicable'), checks };
}

/** The result of a check: failed with findings, else passed. */
export function checkResult(name: string, detail: string, findings: Finding[]): Check {
  return { name, status: findings.length === 0 ? 'passed' : 'failed', detail, findings };
}

/** A check that could not be made. */
export function unknownCheck(name: string, detail: string): Check {
  return { name, status: 'unknown', detail, findings: [] };
}

/** A check that does not apply to this host. */
export function inapplicableCheck(name: string, detail: string): Check {
  return { name, status: 'not applicable', detail, findings: [] };
}

/** A mode in octal: `0640`. */
export function formatMode(mode: number): string {
  return `0${(mode & 0o777).toString(8).padStart(3, '0')}`;
}
