import type { DesiredState, ObservedState, Sha } from '../../../machines/types.ts';
import type { Report } from '../../api/report.rules.ts';
import { validate } from './stateValidator.ts';

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

/** Why a text is not a valid state, for the journal. */
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
  if (typeof value !== 'object' || value === null) return { fault: 'state.json is not a JSON object' };
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

/** An image of a service that was signed by whom the host trusts. */
export interface VerifiedImage {
  service: string;
  /** Its reference as written in the bundle, with the digest. */
  image: string;
  /** `sha256:…` of its manifest, or of its index where it is for several architectures. */
  digest: string;
  signers: readonly string[];
}

/** An anonymous volume of a container that a release had, and where it was mounted. */
export interface AnonymousVolume {
  name: string;
  service: string;
  target: string;
}

/** A volume that a release had and that holds its data no more. */
export interface LostVolume {
  name: string;
  /** `lost`: it is gone; `recreated`: there is another one of its name. */
  how: 'lost' | 'recreated';
  /** The services that mounted it, sorted. */
  services: string[];
}

/** Engine names of the volumes and networks with the project's label. */
export interface ProjectResources {
  volumes: string[];
  networks: string[];
}

/** Resources that a `down` could not remove, and the time of the first try (spec §7.5). */
export interface PendingPurge extends ProjectResources {
  since: string;
}

/** A revert that has ended unfinished, until a release is in force again. */
export interface UnfinishedRevert {
  /** The bundle that was to be undone. */
  sha: string;
  /** How often the applied release could not be started again. */
  tries: number;
  /** Why the last try failed, and the code of that. */
  line: string;
  code: string | null;
  /** When the applied release is started again, unless a service of it is healed before. */
  retry_at: string;
}

/** The token's entry in state.json, which never contains the token. */
export interface TokenStatus {
  /** RFC 3339, UTC; null when unknown. */
  expires_at: string | null;
  renewable: boolean;
  /** Lifetime at its creation, in seconds; null when unknown. */
  creation_ttl_s: number | null;
  /** Error of the last renewal, null without one. */
  trouble: string | null;
  /** Why the bootstrap grant on disk is not used; absent when none is refused. */
  grant_refused?: string;
}

/** Status of a token that is not known yet. */
export function unknownTokenStatus(): TokenStatus {
  return { expires_at: null, renewable: false, creation_ttl_s: null, trouble: null };
}

/**
 * Check-in backoff and jitter: keep hosts from calling the tenancy service all at once after an outage, the thundering herd
 * (spec §2.2, §10.4). Durations are seconds; `random` is in [0, 1), drawn anew for each call.
 */

/** Check-in times in state.json, for later ticks; RFC 3339, UTC. Unparsable times are ignored. */
export interface CheckInBackoff {
  due_at: string | null;
  /** No check-in is sent before this time. */
  alone_until: string | null;
}

/** A bundle that failed after its promotion: how often, and when it may be retried (RFC 3339, UTC). */
export interface FailingBundle {
  sha: string;
  count: number;
  retry_at: string;
  /** Journal line of the last failure, repeated during the backoff. */
  line: string;
}

/** What is remembered of the heals of one service, in state.json. */
export interface HealingRecord {
  /** Ticks in a row that found it failed, each after a heal on the tick before. */
  row: number;
  /** Whether the last tick tried to heal it. */
  healed: boolean;
  /** Heals since it was last healthy for long. */
  heals: number;
  /** When it was found failed last. */
  at: string;
  /** When the next heal is due; null: at once. */
  retry_at: string | null;
  /** The restarts by the engine that were counted last, of this container. */
  restarts?: RestartCount;
}

/** Restarts of a container by the engine, and when they were counted. */
export interface RestartCount {
  id: string;
  count: number;
  at: string;
}

/** The records by the names of services. */
export type HealingHistory = Readonly<Record<string, HealingRecord>>;

const MAX_PENDING_REPORTS = 20;

/**
 * The outbox with one more report, which replaces an earlier one with its id. Keeps the newest 20, oldest first (spec §10.3).
 */
export function enqueueReport(outbox: Report[], report: Report): Report[] {
  const others = outbox.filter(({ report_id }) => report_id !== report.report_id);
  return [...others, report].slice(-MAX_PENDING_REPORTS);
}
