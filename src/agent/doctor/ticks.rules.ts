import { refusals } from '../../../machines/refusals.ts';
import { tenancyErrorCodes } from '../../api/checkIn.rules.ts';
import type { Sha } from '../../../machines/types.ts';
import {
  type Check,
  checkResult,
  type Fact,
  type Finding,
  inapplicableCheck,
  type ProgramUser,
  unknownCheck,
} from '../../core/doctor.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { formatStanding, type HoldFile, standingHold } from '../checkIn/hold.rules.ts';
import { describeUnfinished } from '../release/revertTries.rules.ts';
import { describeLoss, describeResources, purgeDeadline } from '../release/volumes.rules.ts';
import type { State } from '../state/state.rules.ts';
import { shortSha } from '../status/formatTrace.rules.ts';
import { formatOutcome, isFailure, waits } from '../status/status.rules.ts';
import { type CheckInAgeFacts, offlineAlarmLine, staleCheckIn } from '../checkIn/checkInAge.rules.ts';

const tick = 'sudo deployd run --once';

const trace = 'sudo deployd trace';

/** Checks that the desired bundle is applied, and that nothing of an earlier bundle remains. */
export function checkBundle({ state }: CheckContext): Check {
  const name = 'bundle';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  if (state.known === null) return checkResult(name, 'no tick has been made yet', []);
  const { applied_sha, last_outcome } = state.known;
  const applied = applied_sha === null ? 'nothing is applied' : `${shortSha(applied_sha)} is applied`;
  const waiting =
    last_outcome !== null && waits(last_outcome) ? `; ${last_outcome.detail ?? 'the desired one waits'}` : '';
  return checkResult(name, `${applied}${waiting}`, [...desiredFindings(state.known), ...purgeFindings(state.known)]);
}

/** The first reason why the desired bundle is not applied. */
function desiredFindings(state: State): Finding[] {
  const { applied_sha, attempt, last_check_in, last_outcome: outcome } = state;
  const failing = failingDesired(state);
  if (failing !== null) {
    const times = failing.count === 1 ? 'once' : `${failing.count} times`;
    const problem = `${shortSha(failing.sha)} failed ${times}, next try at ${failing.retry_at}: ${failing.line}`;
    return [{ problem, fix: trace }];
  }
  if (outcome?.outcome === 'refused') return [{ problem: outcome.detail ?? 'refused', fix: refusalFix(outcome.code) }];
  if (attempt !== null) {
    const problem = `${shortSha(attempt.sha)} is half applied (${attempt.phase} since ${attempt.at})`;
    return [{ problem, fix: tick }];
  }
  const desired = last_check_in?.desired_sha ?? null;
  const isExplained = outcome !== null && (waits(outcome) || isFailure(outcome.outcome));
  if (last_check_in === null || desired === applied_sha || isExplained) return [];
  const nameOf = (sha: string | null) => (sha === null ? 'nothing' : shortSha(sha));
  return [{ problem: `${nameOf(desired)} is desired, ${nameOf(applied_sha)} is applied`, fix: tick }];
}

/** The desired bundle, if it has failed. */
function failingDesired({ failing, last_check_in }: State): State['failing'] {
  return failing?.sha === last_check_in?.desired_sha ? failing : null;
}

function refusalFix(code: string | null): string {
  const known = Object.entries(refusals).find(([each]) => each === code);
  return known === undefined ? trace : known[1].cure;
}

function purgeFindings({ purge_pending }: State): Finding[] {
  if (!purge_pending) return [];
  const problem = `${describeResources(purge_pending)}: still in use, removal is tried until ${purgeDeadline(purge_pending).toISOString()}`;
  const [volume] = purge_pending.volumes;
  const fix =
    volume === undefined
      ? `sudo docker network inspect ${purge_pending.networks.join(' ')}`
      : `sudo docker ps --all --filter volume=${volume}`;
  return [{ problem, fix }];
}

/** Checks that the last tick with a decision did not fail. Failures that other checks show are ignored here. */
export function checkLastOutcome({ state }: CheckContext): Check {
  const name = 'last outcome';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const outcome = state.known?.last_outcome ?? null;
  if (state.known === null || outcome === null) return checkResult(name, 'none', []);
  const isShown =
    failingDesired(state.known) !== null ||
    outcome.outcome === 'refused' || // shown by the check of the bundle
    outcome.code === 'AGENT_UNAUTHENTICATED'; // shown by the check of the token
  const isWrong = isFailure(outcome.outcome) && !isShown;
  const findings = isWrong ? [{ problem: formatOutcome(outcome), fix: outcomeFix(outcome.code) }] : [];
  return checkResult(name, `${outcome.outcome} at ${outcome.at}`, findings);
}

function outcomeFix(code: string | null): string {
  if (code === 'CLOCK_SKEW') return 'sudo timedatectl set-ntp true';
  return code === tenancyErrorCodes.cloned ? 'deployctl host accept BACKEND' : trace;
}

/** Checks that no report is left that a later check-in should have delivered (spec §10.3). */
export function checkReports({ state }: CheckContext): Check {
  const name = 'reports';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const { pending_reports: pending = [], last_check_in = null } = state.known ?? {};
  if (pending.length === 0) return checkResult(name, 'all delivered', []);
  const checkedInMs = Date.parse(last_check_in?.at ?? '');
  const late = pending.filter(({ finished_at }) => Date.parse(finished_at) < checkedInMs);
  const [oldest] = late;
  const count = pending.length === 1 ? '1 report waits' : `${pending.length} reports wait`;
  if (oldest === undefined) return checkResult(name, count, []);
  const told = late.length === 1 ? '1 report was' : `${late.length} reports were`;
  const problem = `${told} not delivered by later check-ins, the oldest of ${oldest.finished_at}`;
  return checkResult(name, count, [{ problem, fix: trace }]);
}

/** Facts of the env's directory. */
export interface ReleasesFacts {
  envDir: string;
  count: number;
  keep: number;
  /** Description of `current` when the agent did not create it; else null. */
  foreignCurrent: string | null;
  /** Where `current` points in place of the applied release; null when it points there. */
  otherCurrent: string | null;
  /** True when files of the applied release are missing or damaged. */
  incomplete: boolean;
  /** Paths that no tick needs: staging directories, registry logins of a killed compose. */
  orphanedPaths: string[];
  /** Releases with files that neither their bundles nor the agent wrote, with some of the paths. */
  written: readonly { sha: Sha; paths: readonly string[] }[];
}

/** Checks that `current` is the agent's, the applied release is complete, and no files are left over (spec §12.7). */
export function checkReleases(releases: Fact<ReleasesFacts>): Check {
  const name = 'releases';
  if ('unknown' in releases) return unknownCheck(name, releases.unknown);
  const { envDir, count, keep, foreignCurrent, otherCurrent, incomplete, orphanedPaths } = releases.known;
  const findings: Finding[] = [];
  if (foreignCurrent !== null) findings.push({ problem: foreignCurrent, fix: tick });
  if (otherCurrent !== null)
    findings.push({ problem: `current points to ${otherCurrent} in place of the applied release`, fix: tick });
  if (incomplete)
    findings.push({ problem: 'the applied release is incomplete: the next tick applies it again', fix: tick });
  if (count > keep + 1)
    findings.push({ problem: `${count} releases are on the disk, ${keep} are kept`, fix: `${tick} --prune` });
  const left = orphanedPaths.map((path) => ({ problem: `${path} was left behind`, fix: `sudo rm -rf ${path}` }));
  const summary = `${count} in ${envDir}/releases${describeWritten(releases.known.written)}`;
  return checkResult(name, summary, [...findings, ...left]);
}

/** The releases that `--prune` removes with files that somebody may need. */
function describeWritten(written: ReleasesFacts['written']): string {
  return written
    .map(({ sha, paths }) => {
      const named = paths.map((path) => printable(path)).join(', ');
      return `; release ${sha} has files that its bundle does not have (${named} …), and --prune removes it with them`;
    })
    .join('');
}

/** Checks that no volume of the applied release was lost. */
export function checkVolumes({ state }: CheckContext): Check {
  const name = 'volumes';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const lost = state.known?.lost_volumes ?? [];
  const fix = 'restore the data from a backup; to continue without it: sudo deployd accept-volumes';
  const findings = lost.map((each) => {
    return { problem: `${describeLoss(each)}, of ${each.services.join(', ')}; found at ${each.at}`, fix };
  });
  return checkResult(name, 'none is lost', findings);
}

/** Checks that the state belongs to this env; `broken` is the finding of an invalid file. */
export function checkState(
  { state }: CheckContext,
  { env, broken }: { env: string | null; broken: Finding | null },
): Check {
  const name = 'state';
  if (broken !== null) return checkResult(name, 'state.json', [broken]);
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  if (state.known === null) return checkResult(name, 'no tick has been made yet', []);
  const { unreverted } = state.known;
  const cause = unreverted && `${describeUnfinished(unreverted)}; the release before may not run as it did`;
  const findings = cause ? [{ problem: cause, fix: 'sudo deployd trace' }] : [];
  if (env === null || state.known.env === env) return checkResult(name, 'state.json', findings);
  const problem = `state.json belongs to environment ${state.known.env}, config.yaml says ${env}; the next tick keeps it beside`;
  return checkResult(name, 'state.json', [{ problem, fix: 'sudo deployd run --once' }]);
}

/** Facts for every check. */
export interface CheckContext {
  now: Date;
  agent: ProgramUser;
  /** The state file, null before the first tick. */
  state: Fact<State | null>;
}

/** Shows the hold of an operator, which is not a fault, and finds a hold file without a readable end. */
export function checkHold(file: Fact<HoldFile | null>, now: Date): Check {
  const name = 'hold';
  if ('unknown' in file) return unknownCheck(name, file.unknown);
  const hold = standingHold(file.known, now);
  if (hold === null) return checkResult(name, 'none', []);
  const standing = formatStanding(hold);
  return checkResult(
    name,
    standing,
    hold.isDamaged ? [{ problem: `this host is held ${standing}`, fix: 'sudo deployd unhold' }] : [],
  );
}

/** Facts of the lock of the state directory. */
export interface LockFacts {
  /** True when the file `lock` exists. */
  present: boolean;
  held: boolean;
  pid: number | null;
  since: string | null;
  /** Upper bound of a tick's duration, in seconds. */
  maxTickS: number;
}

/** Checks that the lock is free, or held by a tick within its time limits. */
export function checkLock(lock: Fact<LockFacts>, now: Date): Check {
  if ('unknown' in lock) return unknownCheck('lock', lock.unknown);
  const { present, held, pid, since, maxTickS } = lock.known;
  if (!held) {
    const problem = 'a tick died and left its lock; the next tick takes it away';
    return checkResult('lock', 'free', present ? [{ problem, fix: 'sudo deployd run --once' }] : []);
  }
  const ageS = Math.round((now.getTime() - Date.parse(since ?? '')) / 1000);
  const problem = `the tick of process ${pid ?? '?'} has run for ${ageS} s, longer than its time limits allow`;
  const detail = `held by process ${pid ?? '?'} for ${ageS} s`;
  return checkResult('lock', detail, ageS > maxTickS ? [{ problem, fix: `sudo kill ${pid ?? 'PID'}` }] : []);
}

/** Properties of `deployd.timer` by name, and its next run if systemd lists one. */
type TimerFacts = Fact<{ properties: ReadonlyMap<string, string>; next: Date | null }>;

/** Parses `systemctl show` and `systemctl list-timers --output=json`; the latter has times in microseconds since the epoch. */
export function parseTimerFacts(shown: string, listed: string): TimerFacts {
  const lines = shown.split('\n');
  const properties = new Map(
    lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)] as const),
  );
  if (!properties.has('LoadState')) return { unknown: 'systemd does not run here' };
  return { known: { properties, next: parseNextRun(listed) } };
}

/**
 * Checks that the timer is enabled and active with a next run. `absentUser` is a user whose units end with the last session; null
 * where units need none.
 */
export function checkTimer(timer: TimerFacts, absentUser: string | null): Check {
  const name = 'timer';
  if (absentUser !== null) {
    const problem = `the units of ${absentUser} run only while ${absentUser} is logged in`;
    return checkResult(name, 'deployd.timer', [{ problem, fix: `sudo loginctl enable-linger ${absentUser}` }]);
  }
  if ('unknown' in timer) return inapplicableCheck(name, timer.unknown);
  const { properties, next } = timer.known;
  const is = (property: string) => properties.get(property) ?? '';
  if (is('LoadState') === 'not-found') return inapplicableCheck(name, 'deployd.timer is not installed on this host');
  const restart = 'sudo systemctl restart deployd.timer';
  const faults: [boolean, Finding][] = [
    [is('LoadState') === 'masked', { problem: 'deployd.timer is masked', fix: 'sudo systemctl unmask deployd.timer' }],
    [
      ['disabled', ''].includes(is('UnitFileState')),
      {
        problem: 'deployd.timer is not enabled: no tick after the next boot',
        fix: 'sudo systemctl enable --now deployd.timer',
      },
    ],
    [
      is('ActiveState') !== 'active',
      { problem: 'deployd.timer does not run', fix: 'sudo systemctl start deployd.timer' },
    ],
    [is('SubState') === 'elapsed', { problem: 'deployd.timer has no next run', fix: restart }],
  ];
  const findings = faults.filter(([holds]) => holds).map(([, finding]) => finding);
  return checkResult(name, next === null ? is('SubState') : `next run at ${next.toISOString()}`, findings);
}

/** The check-in interval of this host, and its alarm threshold. */
interface CheckInLimits extends Omit<CheckInAgeFacts, 'now'> {
  /** Config `offline_alarm_s`. */
  alarmS: number | null;
}

/** Checks that the last check-in is recent, by the rules of `status`; a shorter alarm also counts. */
export function checkLastTick({ state, now }: CheckContext, { alarmS, ...limits }: CheckInLimits): Check {
  const name = 'ticks';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const at = state.known?.last_check_in?.at;
  if (state.known === null || at === undefined)
    return checkResult(name, 'none', [{ problem: 'no tick has checked in yet', fix: 'sudo deployd run --once' }]);
  const alarm = offlineAlarmLine(at, alarmS, now);
  const stale = staleCheckIn(state.known, { now, ...limits });
  const problems = [alarm, stale?.line].filter((line) => typeof line === 'string');
  const fix = stale?.isClockWrong ? 'sudo timedatectl set-ntp true' : 'sudo deployd trace --list';
  return checkResult(
    name,
    `last check-in at ${at}`,
    problems.slice(0, 1).map((problem) => ({ problem, fix })),
  );
}

function parseNextRun(listed: string): Date | null {
  try {
    const [{ next }] = JSON.parse(listed) as [{ next: unknown }];
    return typeof next === 'number' && next > 0 ? new Date(next / 1000) : null;
  } catch {
    return null;
  }
}
