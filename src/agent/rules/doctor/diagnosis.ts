import type { State } from '../state/state.ts';
import type { Fact } from '../../../platform/fact.ts';

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

/** The result of `deployd doctor`: `passed` when no check failed and every check was possible. */
export interface Diagnosis {
  passed: boolean;
  checks: Check[];
}

/** Facts of a file. `found` is null when it does not exist, `hidden` when this user has no access. */
export interface FileFacts {
  path: string;
  found: { mode: number; uid: number; gid: number; mtime: Date } | null | 'hidden';
  /** Whether the agent's user may read and write it; null when unknown. */
  readable: boolean | null;
  writable: boolean | null;
}

/** The user that the agent runs as: the owner of the state directory. */
export interface AgentUser {
  /** `deployd`, or `uid 1234`. */
  name: string;
  uid: number;
  gids: number[];
}

/** Facts for every check. */
export interface CheckContext {
  now: Date;
  agent: AgentUser;
  /** The state file, null before the first tick. */
  state: Fact<State | null>;
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
