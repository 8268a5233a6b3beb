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

/** What a tick finds on disk at its start: which credentials exist, without their values, and the hold of an operator. */
export interface FoundOnDisk {
  hasToken: boolean;
  hasGrant: boolean;
  /** Path of the bootstrap grant, whether or not it exists. */
  grantFile: string;
  hold: StandingHold | null;
}

/** A text, or the name under which the vault keeps one that contains a secret. */
export type Concealed = string & { readonly isConcealed: true };

/** An order of the host's operator that nothing be applied, healed or taken down there. */
export interface Hold {
  /** When it ends by itself (RFC 3339, UTC). */
  until: string;
  /** One line of the operator's. */
  reason: string | null;
  /** Login name of who made it, as the host knew it; absent where it knew none, and in holds of older versions. */
  by?: string;
}

/** A hold that has not ended. */
export interface StandingHold extends Hold {
  /** When its file was written, or now for one from the future. */
  since: string;
  /** True when its file tells neither end nor reason; then the reason says so. */
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

/** What is wrong with one service of the applied release, and how a heal cures it. */
export interface ServiceProblem {
  service: string;
  /** For operators: `exited(1)`, `missing`, `unhealthy for 90s`. */
  detail: string;
  /**
   * `start`: compose creates or starts what is missing; `restart`: the containers run and are restarted; `recreate`: the
   * containers are removed, and compose creates them again; `wait`: the service may become healthy by itself; `none`:
   * only reported; `accept`: nothing of the release is healed until an operator accepts the loss of its data.
   */
  cure: 'start' | 'restart' | 'recreate' | 'wait' | 'none' | 'accept';
  /** Ids of the containers that `restart` or `recreate` concerns. */
  containers: readonly string[];
  /** True when the service failed, so that it counts towards the pauses between heals; false while it only starts. */
  isFailure: boolean;
}

/** State of the host at the start of the tick, before the check-in. */
export interface ObservedState {
  /** The node of a swarm that acts in place of this one; null when this host acts. */
  leader: string | null;
  /** Ids of the swarm that this host is a manager of and of its node; null outside of one. */
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
  /** What is wrong with them. */
  problems: ServiceProblem[];
  containers: ReportedContainer[];
}

/** Retry backoff of the desired bundle, which failed before. */
export interface RetryDelay {
  /** Journal line of its last failure. */
  line: string;
  retryInS: number;
}

/** Why this tick does not do what is desired, though it could. */
export interface Deferral {
  ending: 'held' | 'outsideWindow' | 'converged';
  /** Of the report: `waits:hold`, `waits:window`, `leader:<node>`. */
  reason: string;
  /** Journal line. */
  line: string;
  /** True when the applied release may be started again: outside a window, and to undo an attempt that was cut short. */
  mayHeal: boolean;
}

/** What the tenancy service wants, combined with the state of this host. */
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
  /** True when the bundle is applied outside the windows of this host, since it is announced as an emergency. */
  emergency: boolean;
  /** Null when nothing stands in the way. */
  deferral: Deferral | null;
  /** True when this check-in was overdue: the host had been offline. */
  wasOverdue?: boolean;
}

/** The archive of a bundle, with the bytes that its sha says. */
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
}

/** How a tick was recorded. */
export interface RecordedTick {
  /** True when the host has been offline for longer than `offline_alarm_s`. */
  offlineAlarm: boolean;
  /** The heartbeat to send, into which the machine does not look; unlike other reports it is never queued. */
  heartbeat: object | null;
  /** The containers that the report has; null without a report. */
  containers: readonly ReportedContainer[] | null;
}

/** Result of a tick, with what others want to know of it. */
export interface TickResult extends Outcome {
  /** The hold that stood when the tick began; undefined when it could not be read: one may stand then. */
  hold: StandingHold | null | undefined;
  /** All containers of the project as they were looked at last; null when they were not. */
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
