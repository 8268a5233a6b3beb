import type { State } from '../state/state.ts';
import type { Fact } from '../fact.ts';

/** One problem of this host, and a command that fixes it. */
export interface Finding {
  what: string;
  fix: string;
}

/** The result of one check. `told` describes what was found, or why the check was not possible. */
export interface Check {
  name: string;
  verdict: 'well' | 'wrong' | 'unseen' | 'not applicable';
  told: string;
  findings: Finding[];
}

/** The output of `deployd doctor --json` (spec §2): `well` when nothing is wrong and every check was possible. */
export interface Diagnosis {
  well: boolean;
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
  return { well: checks.every(({ verdict }) => verdict === 'well' || verdict === 'not applicable'), checks };
}

/** The result of a check: wrong with findings, else well. */
export function checkResult(name: string, told: string, findings: Finding[]): Check {
  return { name, verdict: findings.length === 0 ? 'well' : 'wrong', told, findings };
}

/** A check that could not be made. */
export function unseenCheck(name: string, told: string): Check {
  return { name, verdict: 'unseen', told, findings: [] };
}

/** A check that does not apply to this host. */
export function inapplicableCheck(name: string, told: string): Check {
  return { name, verdict: 'not applicable', told, findings: [] };
}

/** A mode in octal: `0640`. */
export function formatMode(mode: number): string {
  return `0${(mode & 0o777).toString(8).padStart(3, '0')}`;
}
