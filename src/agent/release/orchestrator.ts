import type { ObservedState, ReportedContainer, ServiceProblem, Sha } from '../../../machines/types.ts';
import type { LostVolume, RestartCount } from '../state/state.rules.ts';
import type { Carried, StartedRelease } from './cargo.ts';
import type { RecordedImage, ReleaseRecord } from './record.rules.ts';
import type { ExpectedService, OneShot, ServiceFingerprints } from './services.rules.ts';

/** The release that is to run. */
export interface AppliedRelease {
  sha: Sha;
  services: readonly ExpectedService[];
  /** Services that have ended and need no container; what is left of them is not judged. */
  finished?: ReadonlySet<string>;
}

/** How a release that was applied before is started again. */
export interface RestoredRelease {
  sha: Sha;
  /** Problems whose cure needs more than a start of what is missing; none by default. */
  problems?: readonly ServiceProblem[];
  /** Services that nobody waits for, since they stay as they are; none by default. */
  left?: readonly string[];
}

/** An image that runs, by the reference that compose was given, which may contain a secret. */
export interface RunningImage extends RecordedImage {
  id: string;
}

/** What runs at one moment. */
export interface Observation {
  containers: ReportedContainer[];
  /** What is wrong with the release's services, sorted by name. */
  problems: ServiceProblem[];
  /** Restarts by the engine, by service; absent where none were counted. */
  restarts?: ReadonlyMap<string, RestartCount>;
  /** Containers that others created or changed, and lost volumes, in lines for the operator. */
  findings?: string[];
  /** Volumes of the release that are lost. */
  lostVolumes?: LostVolume[];
}

/** What a start takes. */
export type StartInput = 'desired' | 'bundle' | 'project' | 'isApplied' | 'model' | 'release';

/**
 * Changes and watches what runs; services do so in no other way. Each method throws `RUNTIME_UNAVAILABLE` when that cannot
 * be asked.
 */
export interface Orchestrator {
  /** True where another host may have applied the release that is applied: then this one need not have it. */
  readonly isShared: boolean;
  /** The swarm that this host is a manager of, and who acts in place of it. What its managers share is read first. */
  membership: () => Promise<Pick<ObservedState, 'leader' | 'swarm'>>;
  /** What runs now, judged by the applied release; null when none is applied. */
  observe: (applied: AppliedRelease | null) => Promise<Observation>;
  /** Records what runs of a release that an older agent applied; returns what does not belong to it. */
  adopt: (sha: Sha, signal: AbortSignal) => Promise<ServiceProblem[]>;
  /** Makes sure that a release is on this host, if another one may have applied it. Throws what an apply throws. */
  obtain: (sha: Sha, signal: AbortSignal) => Promise<void>;
  /** Makes the images of a bundle available, with its registry logins. Throws `PULL_FAILED`. */
  pull: (input: Carried<'bundle' | 'release'>, signal: AbortSignal) => Promise<void>;
  /** Starts a promoted bundle; its attempt records first that what runs changes from here on. Throws `UP_FAILED`. */
  start: (input: Carried<StartInput>, signal: AbortSignal) => Promise<StartedRelease>;
  /** Waits until every service of a release that was started is healthy (spec §12). Throws `UNHEALTHY`. */
  waitUntilHealthy: (input: Carried<'bundle' | 'started'>, signal: AbortSignal) => Promise<void>;
  /**
   * Starts a release that was applied before, waits until it is healthy, and removes what only the attempt made. Throws
   * `RELEASE_INCOMPLETE` when it cannot run as it did.
   */
  restore: (input: RestoredRelease, signal: AbortSignal) => Promise<void>;
  /** Removes what only releases before the applied one used. */
  removeUnused: () => Promise<void>;
  /** The image that each reference names, by what runs. */
  runningImages: () => Promise<RunningImage[]>;
  /** The finished one-shots of a release; without its services, those that were recorded. */
  finishedOneShots: (record: ReleaseRecord, services: ServiceFingerprints | null) => Promise<OneShot[]>;
  /** The containers of the project, as a report has them; those that were just found healthy are not looked at again. */
  containers: () => Promise<ReportedContainer[]>;
  /** Names of the project's volumes. */
  volumes: () => Promise<string[]>;
  /** Removes the project; its volumes only with `volumes`. Throws `DOWN_FAILED`. */
  down: (input: { volumes: boolean }, signal: AbortSignal) => Promise<void>;
  /** Removes images without a name. */
  prune: () => Promise<void>;
}
