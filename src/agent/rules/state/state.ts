import type { Orders, Sha } from '../../../../machines/words.ts';
import type { Pace } from '../schedule/checkInBackoff.ts';
import type { Failing } from '../schedule/retryBackoff.ts';
import type { Owned } from '../release/owned.ts';
import type { PurgePending } from '../release/purge.ts';
import type { Report } from '../../../protocol/report.ts';
import { validate } from './stateValidator.ts';
import { unknownStanding, type TokenStanding } from '../token/tokenLife.ts';

/** `state.json` (spec §17): what the agent knows across ticks. Times are RFC 3339 in UTC. */
export interface State {
  schema: 1;
  env: string;
  applied_sha: Sha | null;
  applied_at: string | null;
  applied_version: string | null;
  /** Highest `sequence` ever applied for this env; outlives a `down`. */
  highest_sequence: number;
  /** Whether the tenancy service or a manifest called this host production when last heard. */
  production: boolean;
  /** True where nothing tells yet, or any more, that this is no production env. Not in a file of an older version, which knew. */
  production_unknown?: boolean;
  last_check_in: { at: string; action: Orders['action']; desired_sha: Sha | null } | null;
  last_outcome: { at: string; outcome: string; code: string | null; detail: string | null } | null;
  /** An apply that began and has not ended; while it stands, `current` is not trusted. */
  attempt: { sha: Sha; phase: string; at: string } | null;
  failing: Failing | null;
  token: TokenStanding;
  /** Not in a file of an older version, like the next two. */
  pace?: Pace;
  purge_pending?: PurgePending | null;
  baseline?: Baseline | null;
  /** Reports that could not be delivered, oldest first. */
  pending_reports: Report[];
}

/** What the project had before the attempts since the last success, by which it is known what only they made (spec §12.11). */
export interface Baseline {
  /** The bundle of the last of these attempts. */
  sha: Sha;
  /** Null where no volume may ever go: a production env, or one of which nobody knows. */
  volumes: Owned['volumes'] | null;
  networks: Owned['networks'];
}

/** Why a text is no state, in words for the journal. */
export interface StateFault {
  fault: string;
}

/** The state of a host on which nothing has ever happened. */
export function emptyState(env: string): State {
  return {
    schema: 1,
    env,
    applied_sha: null,
    applied_at: null,
    applied_version: null,
    highest_sequence: 0,
    production: false,
    production_unknown: true,
    last_check_in: null,
    last_outcome: null,
    attempt: null,
    failing: null,
    token: unknownStanding(),
    pending_reports: [],
  };
}

/** The state in a text, or what is wrong with it; the text itself is never repeated. */
export function parseState(text: string): State | StateFault {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return { fault: 'state.json is no JSON object' };
  const schema: unknown = Reflect.get(value, 'schema');
  if (schema !== 1)
    return {
      fault: `state.json is of schema ${typeof schema === 'number' ? schema : 'unknown'}, this version reads 1`,
    };
  if (validate(value)) return value as State;
  const [error] = validate.errors ?? [];
  return { fault: `state.json is wrong at ${error?.instancePath.slice(1) || 'its top'}: ${error?.message ?? ''}` };
}

/** Whether a parsed state is none. */
export function isFault(parsed: State | StateFault): parsed is StateFault {
  return 'fault' in parsed;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
