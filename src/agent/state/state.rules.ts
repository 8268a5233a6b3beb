import type { Violation } from '../../api/agentSchemas.ts';
import type { Report } from '../../api/checkIn.rules.ts';
import { type State, validate } from './stateValidator.ts';

export type { State };

type Given<Key extends keyof State> = NonNullable<State[Key]>;
export type Baseline = Given<'baseline'>;
export type Trial = Given<'trial'>;
export type VerifiedImage = Given<'applied_images'>[number];
export type AnonymousVolume = Given<'left_volumes'>[number];
/** A volume that a release had and that no longer contains its data. */
export type LostVolume = Omit<Given<'lost_volumes'>[number], 'at'>;
export type PendingPurge = Given<'purge_pending'>;
/** Engine names of the volumes and networks with the project's label. */
export type ProjectResources = Omit<PendingPurge, 'since'>;
export type UnfinishedRevert = Given<'unreverted'>;
export type TokenStatus = State['token'];
export type CheckInBackoff = Given<'pace'>;
export type FailingBundle = Given<'failing'>;
/** The records by the names of services. */
export type HealingHistory = Given<'healing'>;
export type HealingRecord = HealingHistory[string];
export type RestartCount = NonNullable<HealingRecord['restarts']>;

/** Why a text is not a valid state, for the journal. */
export interface InvalidState {
  fault: string;
}

/** The state of the applied bundle while no bundle is applied. */
export const nothingApplied = {
  applied_sha: null,
  applied_at: null,
  applied_version: null,
  applied_signers: [],
  applied_root: null,
  applied_images: [],
  lost_volumes: [],
} satisfies Partial<State>;

/** The state of a new host. */
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
    token: unknownTokenStatus(),
    pending_reports: [],
  };
}

/** Parses a state, or describes the error without quoting the text. */
export function parseState(text: string): State | InvalidState {
  const value = parseJson(text);
  if (typeof value !== 'object' || value === null) return { fault: 'state.json is not a JSON object' };
  const schema: unknown = Reflect.get(value, 'schema');
  if (schema !== 1)
    return {
      fault: `state.json is of schema ${typeof schema === 'number' ? schema : 'unknown'}, this version reads 1`,
    };
  if (validate(value)) return value;
  const [error] = validate.errors ?? [];
  return { fault: `state.json is wrong at ${error?.instancePath.slice(1) || 'its top'}: ${error?.message ?? ''}` };
}

/** A violation in one line for operators. */
export function describeViolation({ by, code, detail }: Violation): string {
  return `violates ${by}: ${code === undefined ? '' : `${code}: `}${detail}`;
}

/** True when `parseState` found an error. */
export function isInvalidState(parsed: State | InvalidState): parsed is InvalidState {
  return 'fault' in parsed;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** Status of a token that is not known yet. */
export function unknownTokenStatus(): TokenStatus {
  return { expires_at: null, renewable: false, creation_ttl_s: null, trouble: null };
}

const MAX_PENDING_REPORTS = 20;

/**
 * The outbox with one more report, which replaces an earlier one with its id. Keeps the newest 20, oldest first (spec §10.3).
 */
export function enqueueReport(outbox: Report[], report: Report): Report[] {
  const others = outbox.filter(({ report_id }) => report_id !== report.report_id);
  return [...others, report].slice(-MAX_PENDING_REPORTS);
}
