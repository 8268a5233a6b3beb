import { refusals } from '../../../../machines/refusals.ts';
import { type Check, checkResult, type Finding, unknownCheck } from '../../../core/doctor.rules.ts';
import { describeResources } from '../release/projectResources.ts';
import { purgeDeadline } from '../release/pendingPurge.ts';
import { formatOutcome, isFailure, waits } from '../status/status.ts';
import type { State } from '../state/state.ts';
import { shortSha } from '../trace/reasons.ts';
import type { CheckContext } from './checkContext.ts';

const tick = 'sudo deployd run --once';
const trace = 'sudo deployd trace';

/** Checks that the desired bundle is applied, and that nothing of a bundle before it is left over. */
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
      ? `docker network inspect ${purge_pending.networks.join(' ')}`
      : `docker ps --all --filter volume=${volume}`;
  return [{ problem, fix }];
}

/** Checks that the last tick that decided something did not fail. What other checks show is left to them. */
export function checkLastOutcome({ state }: CheckContext): Check {
  const name = 'last outcome';
  if ('unknown' in state) return unknownCheck(name, state.unknown);
  const outcome = state.known?.last_outcome ?? null;
  if (state.known === null || outcome === null) return checkResult(name, 'none', []);
  const isShown =
    failingDesired(state.known) !== null ||
    outcome.outcome === 'refused' || // by the check of the bundle
    outcome.code === 'AGENT_UNAUTHENTICATED'; // by that of the token
  const isWrong = isFailure(outcome.outcome) && !isShown;
  const fix = outcome.code === 'CLOCK_SKEW' ? 'sudo timedatectl set-ntp true' : trace;
  const findings = isWrong ? [{ problem: formatOutcome(outcome), fix }] : [];
  return checkResult(name, `${outcome.outcome} at ${outcome.at}`, findings);
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
