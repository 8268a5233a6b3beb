import { endingNames, endings } from '../../../../machines/endings.ts';
import type { Sha } from '../../../../machines/words.ts';
import type { State } from '../state/state.ts';

/** What `deployd status --json` prints, key by key in this order (spec §2). */
export interface Status {
  version: string;
  env: string;
  site: string;
  transport: string;
  laptop_mode: boolean;
  token: 'present' | 'ABSENT';
  token_expires_at: string | null;
  applied_sha: Sha | null;
  applied_version: string | null;
  desired_sha: Sha | null;
  in_sync: boolean;
  last_check_in: State['last_check_in'];
  last_outcome: State['last_outcome'];
  failing: State['failing'];
  /** What a `down` could not remove yet; null when there is nothing. */
  purge_pending: NonNullable<State['purge_pending']> | null;
  lock: StatusFacts['lock'];
  /** How many reports wait for delivery. */
  pending_reports: number;
  /** Why the grant that lies there is not taken; left out when none is refused. */
  grant_refused?: string;
}

/** The settings that a status tells. */
export type StatusSettings = Pick<Status, 'env' | 'site' | 'transport' | 'laptop_mode'>;

/** What stands neither in the settings nor in the state. */
export interface StatusFacts {
  version: string;
  token: boolean;
  /** Null when it cannot be read. */
  lock: { held: boolean; pid: number | null; since: string | null } | null;
}

/** How this host stands, from what lies on its disk. */
export function statusOf(settings: StatusSettings, state: State, facts: StatusFacts): Status {
  const { env, site, transport, laptop_mode } = settings;
  const { applied_sha, applied_version, last_check_in, last_outcome, failing } = state;
  return {
    version: facts.version,
    ...{ env, site, transport, laptop_mode },
    token: facts.token ? 'present' : 'ABSENT',
    token_expires_at: facts.token ? state.token.expires_at : null,
    ...{ applied_sha, applied_version },
    desired_sha: last_check_in?.desired_sha ?? null,
    in_sync: facts.token && judgeSync(state) === null,
    ...{ last_check_in, last_outcome, failing },
    purge_pending: state.purge_pending ?? null,
    lock: facts.lock,
    pending_reports: state.pending_reports.length,
    ...(state.token.grant_refused !== undefined && { grant_refused: state.token.grant_refused }),
  };
}

/** Why the host is not what the tenancy service wants, in words; null when it is. */
export function judgeSync(state: State): string | null {
  const { applied_sha, attempt, failing, last_check_in, last_outcome } = state;
  const desired = last_check_in?.desired_sha ?? null;
  if (failing !== null && failing.sha === desired) {
    return `${failing.sha} failed ${times(failing.count)}, next try at ${failing.retry_at}: ${failing.line}`;
  }
  if (last_outcome !== null && isFailure(last_outcome.outcome)) return told(last_outcome);
  if (last_check_in === null) return 'no check-in yet';
  if (attempt !== null) return `${attempt.sha} is half applied (${attempt.phase}); the next tick goes on with it`;
  return desired === applied_sha ? null : `wanted is ${desired ?? 'nothing'}, applied is ${applied_sha ?? 'nothing'}`;
}

/** The outcome, its code and its detail in one line, as far as they are known. */
export function told({ outcome, code, detail }: NonNullable<State['last_outcome']>): string {
  return [outcome, code, detail].filter((part) => part !== null).join(': ');
}

/** A word of a report or of an ending; one that no table knows is taken for the worst. */
function isFailure(word: string): boolean {
  const fine = endingNames.filter((name) => endings[name].meta.exit === 0 || endings[name].meta.exit === 75);
  return !fine.some((name) => name === word || endings[name].meta.report === word);
}

function times(count: number): string {
  return count === 1 ? 'once' : `${count} times`;
}
