import { describeOwned } from '../release/owned.ts';
import { purgeEnds } from '../release/purge.ts';
import type { State } from '../state/state.ts';
import { judgeSync, told, type Status } from './status.ts';

/** What a text tells beyond the status itself. */
export interface StatusContext {
  state: State;
  /** Why the state file cannot be used, null when it can. */
  trouble: string | null;
  now: Date;
}

/** The status for people: what they want to know first, then one aligned row for each fact. */
export function statusText(status: Status, context: StatusContext): string {
  const rows = rowsOf(status, context).filter((row): row is [string, string] => row[1] !== null);
  const width = Math.max(...rows.map(([label]) => label.length));
  const lines = rows.map(([label, value]) => `  ${label.padEnd(width)}  ${value}`);
  return [...headlines(status, context), ...lines].map(printable).join('\n');
}

function headlines(status: Status, { state, trouble }: StatusContext): string[] {
  const absent = status.token === 'ABSENT' ? ['token ABSENT'] : [];
  if (trouble !== null) return [...absent, trouble];
  const reason = judgeSync(state);
  if (reason !== null) return [...absent, `not in sync: ${reason}`];
  return absent.length > 0 ? absent : [`in sync: ${inForce(status, state) ?? 'nothing is to run here'}`];
}

function rowsOf(status: Status, { state, now }: StatusContext): [string, string | null][] {
  const { last_check_in: checkIn, last_outcome: outcome, failing, purge_pending: purge, lock } = status;
  return [
    [
      'host',
      `env ${status.env}, site ${status.site}, transport ${status.transport}${status.laptop_mode ? ', laptop' : ''}`,
    ],
    ['token', status.token === 'present' ? `present, ${expiry(status.token_expires_at, now)}` : 'ABSENT'],
    ['trouble', state.token.trouble],
    ['grant', state.token.grant_refused ?? null],
    ['applied', inForce(status, state) ?? 'nothing'],
    ['desired', status.desired_sha ?? 'nothing'],
    ['attempt', state.attempt && `${state.attempt.sha}, ${state.attempt.phase} since ${state.attempt.at}`],
    ['failing', failing && `${failing.sha}, ${failing.count} in a row, next try at ${failing.retry_at}`],
    [
      'still to go',
      purge && `${describeOwned(purge)}; in use outside the project, tried until ${purgeEnds(purge).toISOString()}`,
    ],
    ['last check-in', checkIn ? `${checkIn.action} at ${checkIn.at} (${ago(checkIn.at, now)})` : 'never'],
    ['last outcome', outcome ? `${told(outcome)} at ${outcome.at}` : 'none'],
    ['lock', lock && (lock.held ? `held by pid ${lock.pid ?? 'unknown'} since ${lock.since ?? 'unknown'}` : 'free')],
    ['reports', status.pending_reports === 0 ? null : `${status.pending_reports} wait for delivery`],
    ['version', `deployd ${status.version}`],
  ];
}

function inForce({ applied_sha, applied_version }: Status, { applied_at }: State): string | null {
  const name = applied_version === null ? applied_sha : `${applied_version} (${applied_sha ?? ''})`;
  return applied_sha && `${name ?? ''}${applied_at === null ? '' : ` since ${applied_at}`}`;
}

function expiry(at: string | null, now: Date): string {
  if (at === null) return 'without a known end';
  return Date.parse(at) > now.getTime() ? `expires at ${at}` : `expired at ${at}`;
}

function ago(at: string, now: Date): string {
  const minutes = Math.max(0, Math.floor((now.getTime() - Date.parse(at)) / 60_000));
  if (minutes < 120) return `${minutes} min ago`;
  return minutes < 2880 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1440)} days ago`;
}

/** Details come from elsewhere; nothing in them may move the cursor or colour the terminal. */
function printable(line: string): string {
  return line.replace(/\p{Cc}+/gu, ' ');
}
