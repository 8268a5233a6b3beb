import type { ReportedContainer } from '../../../machines/types.ts';
import { type AwaitedService, longestChain, secondsUntilLastStart } from '../../bundle/plan/waitPlan.rules.ts';
import {
  type EngineHealthcheck,
  engineHealthcheckOf,
  hasHealthcheck,
  healthDemandOf,
  noDemand,
} from '../../bundle/plan/writtenServices.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { type ReleaseRecord, validate } from './releaseRecordValidator.ts';

export type { ReleaseRecord };
export type RecordedContainer = NonNullable<ReleaseRecord['containers']>[number];
export type RecordedImage = ReleaseRecord['images'][number];
type RecordedService = ReleaseRecord['services'][number];
export type EnvDigest = NonNullable<ReleaseRecord['env']>;

/** Parses a record; null when the text is not a valid one. */
export function parseReleaseRecord(text: string): ReleaseRecord | null {
  try {
    const value: unknown = JSON.parse(text);
    return validate(value) ? value : null;
  } catch {
    return null;
  }
}

/** True for two records of one apply. Managers of a swarm verify signatures at different times. */
export function isSameRecord(one: ReleaseRecord | null, other: ReleaseRecord | null): boolean {
  const withoutRoot = (key: string, value: unknown) => (key === 'trust_root' ? undefined : value);
  return JSON.stringify(one, withoutRoot) === JSON.stringify(other, withoutRoot);
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
 * The services without restart policy and healthcheck that have ended with 0, sorted. They no longer need a container.
 * A one-shot that finished before the release was applied is among its jobs instead.
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

/** A note for the operator about a release whose containers may write to its bundle; null without such a mount. */
export function writableLine({ writable = [] }: Pick<ReleaseRecord, 'writable'>): string | null {
  if (writable.length === 0) return null;
  const paths = writable.map((path) => `./${printable(path)}`).join(', ');
  return `writable: containers can write to ${paths} of the bundle; new bundles with such a mount are refused: mount it with :ro, or use a named volume`;
}

/** Images whose reference now names another image in a running container. */
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
  /** The dependencies that `compose up` waits for, including jobs. */
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
 * the healthchecks of file and image. It is never longer than the limit: a release that was applied before a limit
 * existed continues to run.
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
