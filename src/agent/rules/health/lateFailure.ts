import type { ReleaseRecord } from '../release/releaseRecord.ts';
import type { InspectedContainer } from './health.ts';
import { roleOf, type ExpectedService } from './unhealthyServices.ts';

/** Times in milliseconds since 1970. */
export interface TrialTimes {
  appliedMs: number;
  /** How long after the apply a failure counts. */
  windowMs: number;
  /** The last start of the host. */
  bootMs: number;
}

/** Exit codes of a process that was ended from outside: by SIGINT, SIGKILL or SIGTERM. */
const endedFromOutside = [130, 137, 143];

/**
 * The containers that ended with an error so soon after the apply that the release has failed. Only a service without a
 * restart policy and without a healthcheck can fail so. What was killed from outside, or ended with the host, is healed; so is
 * the drift of a container that the release did not record.
 */
export function lateFailures(
  containers: readonly InspectedContainer[],
  release: { services: readonly ExpectedService[] } & Pick<ReleaseRecord, 'containers'>,
  { appliedMs, windowMs, bootMs }: TrialTimes,
): InspectedContainer[] {
  if (bootMs > appliedMs) return [];
  const recorded = release.containers && new Set(release.containers.map(({ id }) => id));
  return containers.filter((container) => {
    if (recorded?.has(container.id) === false) return false;
    const { state, health, exitCode, oomKilled, finishedMs = Infinity } = container;
    const hasFailed = state === 'exited' && exitCode !== 0 && health === null;
    const isOwn = oomKilled || !endedFromOutside.includes(exitCode);
    return (
      hasFailed && isOwn && roleOf(release.services, container).kind === 'once' && finishedMs <= appliedMs + windowMs
    );
  });
}
