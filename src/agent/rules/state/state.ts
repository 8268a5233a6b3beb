import type { DesiredState, ObservedState, Sha } from '../../../../machines/types.ts';
import type { CheckInBackoff } from '../schedule/checkInBackoff.ts';
import type { FailingBundle } from '../schedule/retryBackoff.ts';
import type { HealingHistory } from '../health/healing.ts';
import type { AnonymousVolume } from '../release/leftVolumes.ts';
import type { LostVolume } from '../release/lostVolumes.ts';
import type { ProjectResources } from '../release/projectResources.ts';
import type { VerifiedImage } from '../release/releaseRecord.ts';
import type { PendingPurge } from '../release/pendingPurge.ts';
import type { Report } from '../../../api/report.rules.ts';
import type { UnfinishedRevert } from './revertTries.ts';
import { validate } from './stateValidator.ts';
import { type TokenStatus, unknownTokenStatus } from '../token/tokenStatus.ts';

/** `state.json` (spec §17), the agent's memory between ticks. Times are RFC 3339 in UTC. */
export interface State {
  schema: 1;
  env: string;
  applied_sha: Sha | null;
  applied_at: string | null;
  applied_version: string | null;
  /** Who signed the applied bundle. Absent in files of older versions. */
  applied_signers?: readonly string[];
  /** Who signed the images of the applied bundle. Absent in files of older versions. */
  applied_images?: readonly VerifiedImage[];
  /** Highest `sequence` ever applied for this env; a `down` keeps it. */
  highest_sequence: number;
  /** True when the last check-in or the last manifest declared this host production. */
  production: boolean;
  /** True when it is unknown whether this is a production env. Absent in files of older versions, where it was known. */
  production_unknown?: boolean;
  last_check_in: { at: string; action: DesiredState['action']; desired_sha: Sha | null } | null;
  /** The moment of that check-in by a clock that nobody can set. Absent in files of older versions. */
  check_in_clock?: { at: string; boot: string; uptime_s: number };
  last_outcome: { at: string; outcome: string; code: string | null; detail: string | null } | null;
  /** The apply in progress, or one that was interrupted; until it ends, `current` is not trusted. `tries` counts failed reverts. */
  attempt: { sha: Sha; phase: string; at: string; tries?: number } | null;
  failing: FailingBundle | null;
  /** Absent in files of older versions. */
  trial?: Trial | null;
  token: TokenStatus;
  /** Since when no check-in has succeeded, while that is so. Absent in files of older versions. */
  offline_since?: string | null;
  /** Absent in files of older versions, like the next three. */
  pace?: CheckInBackoff;
  purge_pending?: PendingPurge | null;
  baseline?: Baseline | null;
  /** Services that were healed lately; absent in files of older versions. */
  healing?: HealingHistory;
  /** Volumes that were found lost since the last apply, until an operator accepts it. Absent in files of older versions. */
  lost_volumes?: (LostVolume & { at: string })[];
  /** Anonymous volumes of releases that were removed. Absent while there are none. */
  left_volumes?: AnonymousVolume[];
  /** Absent in files of older versions. */
  unreverted?: UnfinishedRevert | null;
  /** The swarm that this host was seen in last, and its node. */
  swarm?: ObservedState['swarm'];
  /** The report outbox: reports not delivered yet, oldest first. */
  pending_reports: Report[];
}

/** Resources of the project before the attempts since the last success; those attempts created all others (spec §12.11). */
export interface Baseline {
  /** The bundle of the latest attempt. */
  sha: Sha;
  /** Null when no volume may be removed: a production env, or one whose production status is unknown. */
  volumes: ProjectResources['volumes'] | null;
  networks: ProjectResources['networks'];
}

/** What a failure soon after the apply needs: the way back, and the failures before the apply. */
export interface Trial {
  /** The applied bundle. */
  sha: Sha;
  /** The release that it replaced; null for a first one. */
  previous: Sha | null;
  failing: FailingBundle | null;
}

/** Why a text is no valid state, for the journal. */
export interface InvalidState {
  fault: string;
}

/** What the state tells of the applied bundle while none is applied. */
export const nothingApplied = {
  applied_sha: null,
  applied_at: null,
  applied_version: null,
  applied_signers: [],
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
