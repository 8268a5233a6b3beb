import {
  type EngineHealthcheck,
  engineHealthcheckOf,
  hasHealthcheck,
  healthDemandOf,
  noDemand,
} from '../../../bundle/plan/writtenServices.rules.ts';
import { type AwaitedService, longestChain, secondsUntilLastStart } from '../../../bundle/plan/waitPlan.rules.ts';
import type { RecordedService } from './releaseRecord.ts';

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
