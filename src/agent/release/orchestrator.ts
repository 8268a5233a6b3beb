import type { Cargo, CargoParts, FailedAttempt } from '../../../machines/services.ts';
import type { Concealed, ObservedState, ReportedContainer, ServiceProblem, Sha } from '../../../machines/types.ts';
import type { BundleContents } from '../../bundle/archive/inventory.rules.ts';
import type { ComposeProject } from '../../bundle/compose/composeProject.rules.ts';
import type { StartFirst } from '../../bundle/plan/startFirst.rules.ts';
import type { WrittenService } from '../../bundle/plan/writtenServices.rules.ts';
import type { Verification, VerifiedRoot } from '../../signatures/judgement.rules.ts';
import type { LostVolume, RestartCount, VerifiedImage } from '../state/state.rules.ts';
import type { GrantedPrivileges } from './grantedPrivileges.rules.ts';
import type { RecordedImage, ReleaseRecord, ReleaseWait } from './record.rules.ts';
import type { ExpectedService, Hook, OneShot, ServiceEdges, ServiceFingerprints } from './services.rules.ts';

/** The release that should run. */
export interface AppliedRelease {
  sha: Sha;
  services: readonly ExpectedService[];
  /** Services that have ended and need no container; their remaining containers are ignored. */
  finished?: ReadonlySet<string>;
}

/** How a release that was applied before is started again. */
export interface RestoredRelease {
  sha: Sha;
  /** Problems that require more than starting missing containers; empty by default. */
  problems?: readonly ServiceProblem[];
  /** Services that are not awaited, since they stay unchanged; empty by default. */
  left?: readonly string[];
}

/** A running image, by the reference that compose was given, which may contain a secret. */
export interface RunningImage extends RecordedImage {
  id: string;
}

/** The containers that run at one moment, and their health. */
export interface Observation {
  containers: ReportedContainer[];
  /** The problems of the release's services, sorted by name. */
  problems: ServiceProblem[];
  /** Restarts by the engine, by service; absent if none were counted. */
  restarts?: ReadonlyMap<string, RestartCount>;
  /** Containers that others created or changed, and lost volumes, in lines for the operator. */
  findings?: string[];
  /** Volumes of the release that are lost. */
  lostVolumes?: LostVolume[];
}

/** Dependencies of a start. */
export type StartInput = 'desired' | 'bundle' | 'project' | 'isApplied' | 'model' | 'release';

/**
 * The only way for services to change and observe containers. Each method throws `RUNTIME_UNAVAILABLE` when the
 * orchestrator cannot be reached.
 */
export interface Orchestrator {
  /** True if another host may have applied the release: then it may be missing on this host. */
  readonly isShared: boolean;
  /**
   * The swarm that this host manages, and the node that acts instead of it. The data that its managers share is read
   * first.
   */
  membership: () => Promise<Pick<ObservedState, 'leader' | 'swarm'>>;
  /** The current containers, compared with the applied release; null when no release is applied. */
  observe: (applied: AppliedRelease | null) => Promise<Observation>;
  /** Records the containers of a release that an older agent applied; returns those that do not belong to it. */
  adopt: (sha: Sha, signal: AbortSignal) => Promise<ServiceProblem[]>;
  /** Makes sure that a release is on this host, if another one may have applied it. Throws the faults of an apply. */
  obtain: (sha: Sha, signal: AbortSignal) => Promise<void>;
  /** Makes the images of a bundle available, with its registry logins. Throws `PULL_FAILED`. */
  pull: (input: Carried<'bundle' | 'release'>, signal: AbortSignal) => Promise<void>;
  /** Starts a promoted bundle; its attempt first records that containers change from here on. Throws `UP_FAILED`. */
  start: (input: Carried<StartInput>, signal: AbortSignal) => Promise<StartedRelease>;
  /** Waits until every service of a release that was started is healthy (spec §12). Throws `UNHEALTHY`. */
  waitUntilHealthy: (input: Carried<'bundle' | 'started'>, signal: AbortSignal) => Promise<void>;
  /**
   * Starts a release that was applied before, waits until it is healthy, and removes resources that only the attempt
   * created. Throws `RELEASE_INCOMPLETE` when it cannot run as before.
   */
  restore: (input: RestoredRelease, signal: AbortSignal) => Promise<void>;
  /** Removes resources that only earlier releases used. */
  removeUnused: () => Promise<void>;
  /** The image that each reference names, by the running containers. */
  runningImages: () => Promise<RunningImage[]>;
  /** The finished one-shots of a release; without its services, those that were recorded. */
  finishedOneShots: (record: ReleaseRecord, services: ServiceFingerprints | null) => Promise<OneShot[]>;
  /** The containers of the project for a report; containers that were just found healthy are not inspected again. */
  containers: () => Promise<ReportedContainer[]>;
  /** Names of the project's volumes. */
  volumes: () => Promise<string[]>;
  /** Removes the project; its volumes only with `volumes`. Throws `DOWN_FAILED`. */
  down: (input: { volumes: boolean }, signal: AbortSignal) => Promise<void>;
  /** Removes images without a name. */
  prune: () => Promise<void>;
}

/** The parts of the cargo that only the services of an apply read. */
export interface AgentCargo extends CargoParts {
  signatures: (Verification & { trustRoot: VerifiedRoot | null }) | null;
  contents: BundleContents;
  project: ComposeProject;
  model: RenderedModel;
  images: { verified: readonly VerifiedImage[]; services: ServiceFingerprints };
  release: { services: ServiceFingerprints };
  started: StartedRelease;
}

/** A release that was started, and its time limit to become healthy; null if only the configuration sets the limit. */
export interface StartedRelease {
  wait: ReleaseWait | null;
}

/** The parts of the rendered model that are kept; the model itself contains secret values. */
export interface RenderedModel {
  written: readonly (Omit<WrittenService, 'image'> & { image: Concealed | null })[];
  /** The services that are replaced start-first, by name. */
  startFirst: ReadonlyMap<string, StartFirst>;
  /** Privileges that it grants to its services. */
  granted: GrantedPrivileges;
  /** The dependencies between its services. */
  edges: ReadonlyMap<string, ServiceEdges>;
  /** The services that have hooks. */
  hooks: Record<string, Hook[]>;
  services: ServiceFingerprints;
}

/** These parts of the outputs of the states of an apply. */
export type Carried<TParts extends keyof Cargo> = Pick<Cargo<AgentCargo>, TParts>;

/** An apply that failed after the promotion. */
export type FailedApply = FailedAttempt<AgentCargo>;
