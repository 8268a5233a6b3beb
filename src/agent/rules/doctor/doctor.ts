import type { State } from '../state/state.ts';
import type { Known } from '../plan/plan.ts';

/** One thing that is wrong on this host, and a command that cures it. */
export interface Finding {
  what: string;
  fix: string;
}

/** One thing that was looked at. `told` says what was found, or why nothing could be seen. */
export interface Check {
  name: string;
  verdict: 'well' | 'wrong' | 'unseen' | 'not applicable';
  told: string;
  findings: Finding[];
}

/** What `deployd doctor --json` prints (spec §2): all is well when nothing is wrong and nothing was unseen. */
export interface Diagnosis {
  well: boolean;
  checks: Check[];
}

/** A file as it lies there: null when it does not, `hidden` when this user cannot see. */
export interface FileFacts {
  path: string;
  found: { mode: number; uid: number; gid: number; mtime: Date } | null | 'hidden';
  /** Whether the agent's user may read, and write it; null when that cannot be found out. */
  readable: boolean | null;
  writable: boolean | null;
}

/** The user that the agent works as: the owner of the state directory. */
export interface Agent {
  /** `deployd`, or `uid 1234`. */
  name: string;
  uid: number;
  gids: number[];
}

/** What every judgement may need to know. */
export interface Host {
  now: Date;
  agent: Agent;
  /** The state file, null before the first tick. */
  state: Known<State | null>;
}

/** The checks as one diagnosis. */
export function diagnosisOf(checks: Check[]): Diagnosis {
  return { well: checks.every(({ verdict }) => verdict === 'well' || verdict === 'not applicable'), checks };
}

/** A check that was made: wrong when there are findings. */
export function checked(name: string, told: string, findings: Finding[]): Check {
  return { name, verdict: findings.length === 0 ? 'well' : 'wrong', told, findings };
}

/** A check that could not be made. */
export function unseen(name: string, told: string): Check {
  return { name, verdict: 'unseen', told, findings: [] };
}

/** A check that makes no sense on this host. */
export function inapplicable(name: string, told: string): Check {
  return { name, verdict: 'not applicable', told, findings: [] };
}

/** A mode as people write it: `0640`. */
export function octal(mode: number): string {
  return `0${(mode & 0o777).toString(8).padStart(3, '0')}`;
}
