import { policySummary } from '../bundle/policySummary.ts';
import { trustsOf, trustSummary } from '../bundle/trustSummary.ts';
import { describeResources } from '../release/projectResources.ts';
import { describeLoss } from '../release/lostVolumes.ts';
import { purgeDeadline } from '../release/pendingPurge.ts';
import { formatAge } from '../schedule/checkInAge.ts';
import { formatStanding } from '../schedule/hold.ts';
import type { State } from '../state/state.ts';
import { terminalSafe } from '../../../core/text.rules.ts';
import { describeProblems } from '../health/unhealthyServices.ts';
import { formatOutcome, type Status } from './status.ts';

/** Facts that the text shows in addition to the status. */
export interface StatusContext {
  state: State;
  /** Why the state file cannot be used, null when it is valid. */
  stateError: string | null;
  now: Date;
}

/** The status as text: headlines, then one aligned row for each fact. */
export function formatStatus(status: Status, context: StatusContext): string {
  const rows = rowsOf(status, context).filter((row): row is [string, string] => row[1] !== null);
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`);
  return [...headlines(status, context), ...lines].map(terminalSafe).join('\n');
}

function headlines(status: Status, { state, stateError }: StatusContext): string[] {
  const absent = status.token === 'ABSENT' ? ['token ABSENT'] : [];
  if (stateError !== null) return [...absent, stateError];
  const { out_of_sync_reason: reason } = status;
  if (reason !== undefined) return [...absent, reason.startsWith('unknown: ') ? reason : `not in sync: ${reason}`];
  return absent.length > 0 ? absent : [`in sync: ${formatApplied(status, state) ?? 'nothing is to run here'}`];
}

function rowsOf(status: Status, { state, now }: StatusContext): [string, string | null][] {
  const { last_check_in: checkIn, last_outcome: outcome, failing, purge_pending: purge, lock } = status;
  return [
    [
      'host',
      `env ${status.env}, site ${status.site}, transport ${status.transport}${status.laptop_mode ? ', laptop' : ''}`,
    ],
    ['swarm', status.swarm === undefined ? null : `node ${status.swarm.node} of ${status.swarm.id}`],
    ['token', status.token === 'present' ? `present, ${formatExpiry(status.token_expires_at, now)}` : 'ABSENT'],
    ['trouble', state.token.trouble],
    ['grant', state.token.grant_refused ?? null],
    ['applied', formatApplied(status, state) ?? 'nothing'],
    ['containers', formatContainers(status)],
    ['signed by', status.applied_signers === undefined ? null : status.applied_signers.join(', ') || 'nobody'],
    ['images', status.applied_images === undefined ? null : formatImages(status.applied_images)],
    ['desired', status.desired_sha ?? 'nothing'],
    ['hold', status.hold === undefined ? null : formatStanding(status.hold)],
    ['windows', status.window_opens_at === undefined ? null : `closed, the next opens at ${status.window_opens_at}`],
    ['attempt', state.attempt && `${state.attempt.sha}, ${state.attempt.phase} since ${state.attempt.at}`],
    ['failing', failing && `${failing.sha}, ${failing.count} in a row, next try at ${failing.retry_at}`],
    ['cause', /^cause: (.*)$/m.exec(outcome?.detail ?? '')?.[1] ?? null],
    [
      'still to go',
      purge &&
        `${describeResources(purge)}; in use outside the project, tried until ${purgeDeadline(purge).toISOString()}`,
    ],
    ['lost volumes', formatLost(state.lost_volumes ?? [])],
    ['last check-in', checkIn ? `${checkIn.action} at ${checkIn.at} (${ageOf(checkIn.at, now)})` : 'never'],
    [
      'offline',
      status.offline_since === undefined ? null : `since ${status.offline_since} (${ageOf(status.offline_since, now)})`,
    ],
    ['last outcome', outcome ? `${formatOutcome(outcome)} at ${outcome.at}` : 'none'],
    ['lock', lock && (lock.held ? `held by pid ${lock.pid ?? 'unknown'} since ${lock.since ?? 'unknown'}` : 'free')],
    ['reports', status.pending_reports === 0 ? null : `${status.pending_reports} wait for delivery`],
    ['trust', status.trust === undefined ? null : formatTrust(status.trust)],
    ['policy', status.policy === undefined ? null : policySummary(status.policy)],
    ['version', `deployd ${status.version}`],
  ];
}

function formatLost(lost: NonNullable<State['lost_volumes']>): string | null {
  const shown = lost.map((each) => `${describeLoss(each)} (${each.services.join(', ')}), found at ${each.at}`);
  return shown.length === 0 ? null : `${shown.join('; ')}; to accept it: sudo deployd accept-volumes`;
}

function formatTrust(trust: NonNullable<Status['trust']>): string {
  return trustsOf(trust)
    .map(([signed, settings]) => trustSummary(signed, settings))
    .join('; ');
}

function formatImages(images: NonNullable<Status['applied_images']>): string {
  return (
    images.map(({ service, signers }) => `${service} signed by ${signers.join(', ')}`).join('; ') ||
    'nobody signed them'
  );
}

function formatApplied({ applied_sha, applied_version }: Status, { applied_at }: State): string | null {
  if (applied_sha === null) return null;
  const name = applied_version === null ? applied_sha : `${applied_version} (${applied_sha})`;
  return applied_at === null ? name : `${name} since ${applied_at}`;
}

function formatExpiry(at: string | null, now: Date): string {
  if (at === null) return 'without a known end';
  return Date.parse(at) > now.getTime() ? `expires at ${at}` : `expired at ${at}`;
}

function ageOf(at: string, now: Date): string {
  return formatAge((now.getTime() - Date.parse(at)) / 1000);
}

function formatContainers(status: Status): string {
  const { health_unknown_reason: unknown, containers = [], unhealthy_services: troubles = [] } = status;
  if (unknown !== undefined) return `unknown: ${unknown}`;
  const count = containers.length === 1 ? '1 container' : `${containers.length} containers`;
  return troubles.length > 0 ? `${count}; unhealthy: ${describeProblems(troubles)}` : count;
}
