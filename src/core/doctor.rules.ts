import { formatSize, formatSkew, maxSkewS, terminalSafe } from './text.rules.ts';
import { clockCommand, judgeClock, type PastTime } from './untrusted.rules.ts';

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

/** Times that show without a service whether the clock of this host is too early. */
interface LocalTimes {
  now: Date;
  pastTimes: readonly PastTime[];
}

/**
 * Compares the clock of this host with the clocks of services; `skewsS` are the seconds that it is ahead of each. Without a service, it is
 * wrong if files of this host are newer.
 */
export function checkClock(skewsS: readonly number[], { now, pastTimes }: LocalTimes): Check {
  const [worstS] = skewsS.toSorted((a, b) => Math.abs(b) - Math.abs(a));
  if (worstS === undefined) {
    const problem = judgeClock(now, pastTimes);
    if (problem === null) return unknownCheck('clock', 'no service reported its time');
    return checkResult('clock', `it shows ${now.toISOString()}`, [{ problem, fix: clockCommand }]);
  }
  const detail = `${formatSkew(worstS)} the services`;
  const isWrong = Math.abs(worstS) > maxSkewS;
  return checkResult('clock', detail, isWrong ? [{ problem: `the clock is ${detail}`, fix: clockCommand }] : []);
}

/** A filesystem, the free space that it must have, and for which purpose. */
export interface DiskSpaceFacts {
  paths: readonly string[];
  freeBytes: number | null;
  neededBytes: number;
  purpose: 'images' | 'state';
}

/** Checks the free space for images and for the state on every filesystem (spec §5.8). */
export function checkDiskSpace(filesystems: Fact<readonly DiskSpaceFacts[]>): Check {
  if ('unknown' in filesystems) return unknownCheck('disk', filesystems.unknown);
  const detail = filesystems.known
    .map(({ paths, freeBytes }) => `${formatFreeSpace(freeBytes)} free on ${paths.join(', ')}`)
    .join('; ');
  const findings = filesystems.known.flatMap(({ paths, freeBytes, neededBytes, purpose }) => {
    const where = paths.join(', ');
    if (freeBytes === null)
      return [{ problem: `the free space is unknown on ${where}`, fix: `df -h ${paths.join(' ')}` }];
    if (freeBytes >= neededBytes) return [];
    const problem = `${formatFreeSpace(freeBytes)} free on ${where}, ${formatSize(neededBytes, Math.ceil)} must be`;
    return [{ problem, fix: purpose === 'images' ? `sudo docker image prune --all` : `sudo du -xsh ${where}/*` }];
  });
  return checkResult('disk', detail, findings);
}

function formatFreeSpace(bytes: number | null): string {
  return bytes === null ? 'an unknown amount' : formatSize(bytes, Math.floor);
}

/** Facts of the configuration file. */
interface ConfigFacts {
  file: FileFacts;
  /** One line for each problem, as every command prints it. */
  problems: string[];
}

/** The state directory, and the entries in it that do not belong to the program's user. */
interface StateDirFacts {
  dir: FileFacts;
  foreignEntries: string[];
}

/** Checks that the configuration is valid, readable for the program's user and writable only for root (spec §4). */
export function checkConfig({ file, problems }: ConfigFacts, user: ProgramUser): Check {
  const { path, found, readable } = file;
  if (found === 'hidden') return unknownCheck('config', `${path} is not for this user: use sudo`);
  const invalid = problems.map((problem) => ({ problem, fix: `sudoedit ${path}` }));
  return checkResult('config', path, [
    ...invalid,
    ...(readable === false
      ? [
          {
            problem: `${user.name} cannot read ${path}`,
            fix: `sudo chgrp ${user.name} ${path} && sudo chmod 640 ${path}`,
          },
        ]
      : []),
    ...excessPermissions(file, 0o027, 640),
  ]);
}

/** Checks that the state directory exists, is accessible only to the program's user, and belongs to it with all entries. */
export function checkStateDir({ dir, foreignEntries }: StateDirFacts, { name }: ProgramUser): Check {
  const { path, found } = dir;
  const make = `sudo install -d -m 0700 -o ${name} -g ${name} ${path}`;
  if (found === 'hidden') return unknownCheck('state directory', `${path} is not for this user: use sudo`);
  if (found === null) return checkResult('state directory', path, [{ problem: `${path} does not exist`, fix: make }]);
  return checkResult('state directory', path, [
    ...excessPermissions(dir, 0o077, 700),
    ...foreignEntries.map((entry) => {
      return { problem: `${entry} does not belong to ${name}`, fix: `sudo chown -R --reference=${path} ${entry}` };
    }),
  ]);
}

/** A finding when a file has any permission bit of `mask`; the fix sets the mode `should`. */
export function excessPermissions({ path, found }: FileFacts, mask: number, should: number): Finding[] {
  if (found === null || found === 'hidden' || (found.mode & mask) === 0) return [];
  const problem = `${path} has mode ${formatMode(found.mode)}: more users have access than should`;
  return [{ problem, fix: `sudo chmod ${should} ${path}` }];
}

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

/** A fact of the host, or the reason why it is not known. */
export type Fact<T> = { known: T } | { unknown: string };

/** Facts of a file. `found` is null when it does not exist, `hidden` when this user has no access. */
export interface FileFacts {
  path: string;
  found: { mode: number; uid: number; gid: number; mtime: Date } | null | 'hidden';
  /** Whether the program's user may read and write it; null when unknown. */
  readable: boolean | null;
  writable: boolean | null;
}

/** The user that a program runs as: the owner of its state directory. */
export interface ProgramUser {
  /** `deployd`, or `uid 1234`. */
  name: string;
  uid: number;
  gids: number[];
}
