import type { ReportedContainer, Sha } from '../../../machines/types.ts';
import { type AwaitedService, longestChain, secondsUntilLastStart } from '../../bundle/plan/waitPlan.rules.ts';
import {
  type EngineHealthcheck,
  engineHealthcheckOf,
  hasHealthcheck,
  healthDemandOf,
  noDemand,
} from '../../bundle/plan/writtenServices.rules.ts';
import { printable } from '../../core/text.rules.ts';
import type { MountedVolume } from '../engine/container.rules.ts';
import type { RecordedVolume } from '../engine/resources.rules.ts';
import type { VerifiedImage } from '../state/state.rules.ts';
import { validate } from './releaseRecordValidator.ts';
import type { OneShot, ServiceEdges, ServiceFacts } from './services.rules.ts';

/** The record of a release in `.deployd.json`, from which the state can be rebuilt without the bundle. */
export interface ReleaseRecord {
  schema: 1;
  sha: Sha;
  version: string;
  sequence: number;
  production: boolean;
  /** The services that run. */
  services: RecordedService[];
  /**
   * Image references of the release, and the id of each image when the release was applied. A reference that contains a
   * secret is replaced by the image's id. The digest, `sha256:…`, is that by which the registry of the reference knows the image: null
   * where the engine knows none, absent in records of older versions.
   */
  images: RecordedImage[];
  /** Paths of the compose files in the release. */
  compose: string[];
  /** The chosen profiles. Absent in records of older versions, which chose none. */
  profiles?: string[];
  /** Variables of the bundle that are not secrets. Absent in records of older versions. */
  variables?: Record<string, string>;
  /** Who signed the bundle. Absent in records of older versions. */
  signers?: readonly string[];
  /** Images whose signatures were verified. Absent in records of older versions. */
  verified_images?: readonly VerifiedImage[];
  /** One-shots that finished in this release, or unchanged in the previous one. Absent in records of older versions. */
  jobs?: OneShot[];
  /** Paths of the bundle that containers may write to. Absent in records of older versions. */
  writable?: readonly string[];
  /** Services of kind `once` that ended with 0 after the release was applied. Absent while there are none. */
  ended?: readonly string[];
  /** Identifies the `.env` that the agent wrote. Absent in records of older versions. */
  env?: EnvDigest;
  /** The containers that the agent created or adopted. Absent until the release starts, and in records of older versions. */
  containers?: readonly RecordedContainer[];
  /** The volumes that these containers mount. Absent like them. */
  volumes?: readonly RecordedVolume[];
}

/** A container of a release. What it runs cannot change under one id, except for its networks and its name. */
export interface RecordedContainer {
  id: string;
  service: string;
  /** Id of its image. */
  image: string;
  /** Names of its networks, sorted. */
  networks: readonly string[];
  /** Its volumes, anonymous ones too. */
  volumes: readonly MountedVolume[];
  /** Its number among the replicas of the service, as compose counts. */
  number: string;
}

/** An image of a release. */
export interface RecordedImage {
  reference: string;
  id: string | null;
  digest?: string | null;
}

/** A service that runs. The optional facts are absent in records of older versions. */
interface RecordedService extends Partial<ServiceFacts>, Partial<ServiceEdges> {
  name: string;
  replicas: number;
}

/** Size in bytes, keyed digest and id of the key. A plain digest would allow to guess the values. */
export interface EnvDigest {
  bytes: number;
  mac: string;
  key: string;
}

/** Parses a record; null when the text is not a valid one. */
export function parseReleaseRecord(text: string): ReleaseRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return validate(value) ? (value as ReleaseRecord) : null;
  } catch {
    return null;
  }
}

/** True for two records of one apply. */
export function isSameRecord(one: ReleaseRecord | null, other: ReleaseRecord | null): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}

/** True for a release that was applied: only then does its record contain image ids. */
export function wasApplied({ images }: ReleaseRecord): boolean {
  return images.some(({ id }) => id !== null);
}

/** Services that must have a container; a finished one-shot needs none. */
export function expectedServices(record: ReleaseRecord | null): ReleaseRecord['services'] {
  const finished = finishedServices(record);
  return (record?.services ?? []).filter(({ name }) => !finished.has(name));
}

/** Services that have ended with 0 and are not started again while the release is applied. */
export function finishedServices(record: ReleaseRecord | null): Set<string> {
  return new Set([...(record?.jobs ?? []).map(({ service }) => service), ...(record?.ended ?? [])]);
}

/**
 * The services without restart policy and healthcheck that have ended with 0, sorted; one that ended before needs no
 * container any more, and one that finished before the release was applied is among its jobs.
 */
export function endedServices(
  { services, jobs = [], ended = [] }: ReleaseRecord,
  containers: readonly ReportedContainer[],
): string[] {
  const finished = new Set(jobs.map(({ service }) => service));
  return services
    .filter(({ name, kind }) => kind === 'once' && !finished.has(name))
    .map(({ name }) => name)
    .filter((name) => {
      const own = containers.filter(({ service }) => service === name);
      const hasEnded = own.every((each) => each.state === 'exited' && each.exit_code === 0 && each.health === null);
      return own.length === 0 ? ended.includes(name) : hasEnded;
    })
    .sort();
}

/** What an operator should know of a release whose containers may write to its bundle; null without such a mount. */
export function writableLine({ writable = [] }: Pick<ReleaseRecord, 'writable'>): string | null {
  if (writable.length === 0) return null;
  const paths = writable.map((path) => `./${printable(path)}`).join(', ');
  return `writable: containers can write to ${paths} of the bundle; new bundles with such a mount are refused: mount it with :ro, or use a named volume`;
}

/** Images whose reference now stands for another image in a running container. */
export function replacedImages<T extends { reference: string; id: string }>(
  recorded: readonly T[],
  running: readonly { image: string; imageId: string }[],
): T[] {
  return recorded.filter(({ reference, id }) =>
    running.some(({ image, imageId }) => image === reference && imageId !== id),
  );
}

/** How long a release that was started may take, in seconds. */
export interface ReleaseWait {
  /** Until its containers are healthy. */
  healthS: number;
  /** What `compose up` waits for, jobs included. */
  startS: number;
}

/** The limits of the configuration. */
interface WaitLimits {
  health_timeout_s: number;
  health_timeout_max_s: number;
  job_timeout_s: number;
}

/**
 * The wait for the services of a release, by the healthchecks of its created containers, in which the engine has merged
 * those of file and image. It is never longer than the limit: a release that was applied before a limit existed runs on.
 */
export function releaseWaitOf(
  services: readonly RecordedService[],
  created: ReadonlyMap<string, EngineHealthcheck | null>,
  limits: WaitLimits,
): ReleaseWait {
  const awaited = services
    .filter(({ name }) => created.has(name))
    .map(({ name, kind, job_by, after = [] }): AwaitedService => {
      const healthcheck = engineHealthcheckOf(created.get(name));
      const isJob = kind === 'job' && !(job_by === 'restart' && hasHealthcheck(healthcheck));
      return { name, isJob, demand: isJob ? noDemand : healthDemandOf(healthcheck), after };
    });
  const healthS = Math.max(limits.health_timeout_s, longestChain(awaited).seconds);
  return {
    healthS: Math.min(healthS, limits.health_timeout_max_s),
    startS: secondsUntilLastStart(awaited, limits.job_timeout_s),
  };
}
