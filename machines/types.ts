import type { Ending } from './endings.ts';

/** Types of the data that flows through the machines. None of them may hold a secret: snapshots are logged. */

/** Lower-case hex sha256 of a bundle's bytes; also the name of its release. */
export type Sha = string;

/** Options of this run from the command line and the configuration (spec §2 Commands). */
export interface RunOptions {
  /** `bootstrap` ends after the grant exchange; `tick` continues with the check-in. */
  intent: 'tick' | 'bootstrap';
  /** `--prune`: keep only the applied release at the end. */
  prune: boolean;
  /** Being offline is not a failure (spec §6 `laptop_mode`). */
  laptopMode: boolean;
}

/**
 * The facts on disk at the start of a tick: which credentials exist, without their values, and the hold of an operator.
 */
export interface FoundOnDisk {
  hasToken: boolean;
  hasGrant: boolean;
  /** Path of the bootstrap grant, whether or not it exists. */
  grantFile: string;
  hold: StandingHold | null;
}

/** A text, or the key of the vault under which a text with a secret is stored. */
export type Concealed = string & { readonly isConcealed: true };

/** An order by the host's operator to apply, heal and take down nothing on this host. */
export interface Hold {
  /** When it ends by itself (RFC 3339, UTC). */
  until: string;
  /** The reason, in one line by the operator. */
  reason: string | null;
  /** Login name of the user who set the hold; absent if it was unknown, and in holds of older versions. */
  by?: string;
}

/** A hold that has not expired. */
export interface StandingHold extends Hold {
  /** Time at which its file was written; now if that time is in the future. */
  since: string;
  /** True when its file has no readable end and reason; the reason then says so. */
  isDamaged: boolean;
}

/** A fault as plain data, without secrets. */
export interface FaultFacts {
  ending: Ending;
  code: string | null;
  lines: string[];
  tail: string | null;
}

/** One container of the project, as reported to the tenancy service. */
export interface ReportedContainer {
  service: string;
  name: string;
  state: string;
  /** Null without a healthcheck. */
  health: string | null;
  /** Null while running. */
  exit_code: number | null;
}

/** The problem of one service of the applied release, and how a heal fixes it. */
export interface ServiceProblem {
  service: string;
  /** For operators: `exited(1)`, `missing`, `unhealthy for 90s`. */
  detail: string;
  /**
   * The cure. `start`: compose creates or starts missing containers. `restart`: running containers are restarted.
   * `recreate`: the containers are removed, and compose creates them again. `wait`: the service may become healthy by
   * itself. `none`: only reported. `accept`: nothing of the release is healed until an operator accepts the loss of its
   * data.
   */
  cure: 'start' | 'restart' | 'recreate' | 'wait' | 'none' | 'accept';
  /** Ids of the containers to `restart` or `recreate`. */
  containers: readonly string[];
  /** True when the service failed, so that it counts towards the pauses between heals; false while it only starts. */
  isFailure: boolean;
}

/** State of the host at the start of the tick, before the check-in. */
export interface ObservedState {
  /** The swarm node that acts instead of this one; null when this host acts. */
  leader: string | null;
  /** Ids of the swarm that this host manages and of its node; null outside of a swarm. */
  swarm: { id: string; node: string } | null;
  /** False when the container engine did not answer. */
  engineAvailable: boolean;
  /** Why the engine, or its swarm, could not be observed. */
  engineFault: FaultFacts | null;
  healthy: boolean;
  /** An earlier apply was interrupted and is neither finished nor reverted. */
  attemptInProgress: boolean;
  /** Names of services that are missing or not healthy, sorted. */
  unhealthyServices: string[];
  /** The problems of these services. */
  problems: ServiceProblem[];
  containers: ReportedContainer[];
}

/** Retry backoff of the desired bundle, which failed in an earlier tick. */
export interface RetryDelay {
  /** Journal line of its last failure. */
  line: string;
  retryInS: number;
}

/** Why this tick defers the desired state. */
export interface Deferral {
  ending: 'held' | 'outsideWindow' | 'converged';
  /** Value in the report: `waits:hold`, `waits:window`, `leader:<node>`. */
  reason: string;
  /** Journal line. */
  line: string;
  /**
   * True when the applied release may be started again: outside a maintenance window, and to revert an interrupted
   * attempt.
   */
  mayHeal: boolean;
}

/** The desired state of the tenancy service, combined with the state of this host. */
export interface DesiredState {
  action: 'apply' | 'none' | 'down';
  desiredSha: Sha | null;
  appliedSha: Sha | null;
  sizeBytes: number;
  production: boolean;
  purgeVolumes: boolean;
  /** Why the tick acts: `sha_changed`, `retry:<n>`, `drift:<service>`, `reapply` …; empty when it does not. */
  reason: string;
  retryDelay: RetryDelay | null;
  /**
   * True when the bundle is applied outside the maintenance windows of this host because it is announced as an
   * emergency.
   */
  emergency: boolean;
  /** Null when nothing defers the desired state. */
  deferral: Deferral | null;
  /** True when this check-in was overdue: the host had been offline. */
  wasOverdue?: boolean;
}

/** The downloaded archive of a bundle, whose sha is verified. */
export interface Archive {
  sha: Sha;
  /** Absolute path. */
  file: string;
}

/** A verified and unpacked bundle that is not applied yet. */
export interface Bundle {
  sha: Sha;
  /** Absolute path of the unpacked files. */
  dir: string;
  manifest: Manifest;
}

/** `manifest.json` with its defaults filled in (spec §5, contract of bundles in docs/bundle.md). */
export interface Manifest {
  schema: 1;
  name: string;
  env: string;
  version: string;
  sequence: number;
  production: boolean;
  /** `emergency`: hosts that permit it apply the bundle outside their windows; absent for false. */
  agent: { allow_privileged: boolean; allow_rollback: boolean; emergency?: boolean };
  compose: string[];
  /** The profiles of compose that are active; a service whose profiles are all inactive does not run. */
  profiles: string[];
  disk_need_bytes: number | null;
  /** Values that are not secrets, by the name of the variable. */
  variables: Record<string, string>;
  secrets: ManifestSecret[];
  registries: { host: string; username_var: string; password_var: string }[];
}

/** One variable of a bundle and the location of its value in the secretstore. */
export interface ManifestSecret {
  var: string;
  path: string;
  field: string;
  /** Null: the latest version. */
  version: number | null;
  /** The services that may have the value as an argument of their program, on hosts that require signatures. */
  argument_of?: string[];
}

/** How a tick was recorded. */
export interface RecordedTick {
  /** True when the host has been offline for longer than `offline_alarm_s`. */
  offlineAlarm: boolean;
  /** The heartbeat to send, which is opaque to the machine; unlike other reports it is never queued. */
  heartbeat: object | null;
  /** The containers in the report; null without a report. */
  containers: readonly ReportedContainer[] | null;
}

/** Result of a tick, with the facts that its callers need. */
export interface TickResult extends Outcome {
  /** The hold at the start of the tick; undefined when it could not be read, so that there may be one. */
  hold: StandingHold | null | undefined;
  /** All containers of the project as last observed; null if they were not observed. */
  containers: readonly ReportedContainer[] | null;
  /** True when the check-in was overdue: the host had been offline. */
  wasOverdue: boolean;
}

/** Result of a step, or of the machine `apply`. */
export interface Outcome {
  ending: Ending;
  /** Code of the report (`DISK_INSUFFICIENT`, `PULL_FAILED` …), null on success. */
  code: string | null;
  /** Journal lines, in order. */
  lines: string[];
  /** Redacted tail of the compose output or container logs; null when neither failed. */
  tail: string | null;
  reason: string;
  /** True when containers and `current` were reverted to the previous release. */
  reverted: boolean;
}
