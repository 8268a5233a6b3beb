import type { ServiceProblem } from '../../../machines/types.ts';
import type { InspectedContainer, ObservedContainer } from '../engine/container.rules.ts';
import type { ReleaseRecord } from '../release/record.rules.ts';
import type { ExpectedService, ServiceRole } from '../release/services.rules.ts';
import { type CrashLoop, type HealthStatus, healthStatusOf } from './health.rules.ts';

/** The last observation of a container during a wait. */
export interface WatchedContainer {
  container: InspectedContainer;
  healthStatus: HealthStatus;
  /** Code of the last observed exit; null if there was none. */
  lastExit: number | null;
  /** Set when it ended too often; otherwise null or absent. */
  crashLoop?: CrashLoop | null;
  /** True for a job. */
  isJob?: boolean;
  /** Set for a running job: its start, and whether it exceeds its time limit; otherwise absent. */
  job?: { sinceMs: number; overdueS: number | null };
}

/**
 * The services with a missing or unhealthy container, or with one that a killed agent left beside the one that replaces
 * it, sorted by name, with the cure of each. A tick observes once, so
 * it treats running containers as settled; in an apply `waitUntilHealthy` measures which have settled.
 */
export function problemsOf(
  containers: ObservedContainer[],
  expected: readonly ExpectedService[],
  healUnhealthy: 'restart' | 'report' = 'restart',
): ServiceProblem[] {
  const ofContainers = containers
    .filter((container) => healthStatusOf(container, true, roleOf(expected, container)) !== 'healthy')
    .map((container): ServiceProblem => {
      const detail = describeState(container);
      return {
        service: container.service,
        detail,
        containers: [container.id],
        ...treatmentOf(container, healUnhealthy),
      };
    });
  const counts = Map.groupBy(containers, ({ service }) => service);
  const missing = expected
    .filter(({ name, replicas }) => (counts.get(name)?.length ?? 0) < replicas)
    .map(({ name }): ServiceProblem => {
      return { service: name, detail: 'missing', cure: 'start', containers: [], isFailure: true };
    });
  const surplus = expected.flatMap(({ name, start_first }): ServiceProblem[] => {
    const count = counts.get(name)?.length ?? 0;
    if (start_first === undefined || count <= start_first.replicas) return [];
    const detail = `${count} containers, not ${start_first.replicas}`;
    return [{ service: name, detail, cure: 'start', containers: [], isFailure: false }];
  });
  return [...ofContainers, ...missing, ...surplus].sort((one, other) => (one.service < other.service ? -1 : 1));
}

/** How many times the failed probes that make it unhealthy must follow before a running container is restarted. */
const detectionTimes = 2;

/**
 * A paused container is left alone: somebody paused it, such as a backup. A running container is restarted when it has been
 * unhealthy for twice the time that its healthcheck takes to detect it.
 */
function treatmentOf(
  container: ObservedContainer,
  healUnhealthy: 'restart' | 'report',
): Pick<ServiceProblem, 'cure' | 'isFailure'> {
  if (container.state === 'paused') return { cure: 'none', isFailure: true };
  if (container.state !== 'running') return { cure: 'start', isFailure: true };
  if (container.health === 'starting') return { cure: 'wait', isFailure: false };
  const isOverdue = 'failingStreak' in container && container.failingStreak >= (1 + detectionTimes) * container.retries;
  return { cure: isOverdue && healUnhealthy === 'restart' ? 'restart' : 'none', isFailure: true };
}

/** Names of the services with a problem, sorted. */
export function servicesOf(problems: readonly ServiceProblem[]): string[] {
  return [...new Set(problems.map(({ service }) => service))].sort();
}

/** `web=unhealthy, db=exited(3)`: the problems in one line. */
export function describeProblems(problems: readonly Pick<ServiceProblem, 'service' | 'detail'>[]): string {
  return problems.map(({ service, detail }) => `${service}=${detail}`).join(', ');
}

/** How the release defines the end of a container's service. */
export function roleOf(
  services: readonly ExpectedService[],
  { service }: Pick<ObservedContainer, 'service'>,
): ServiceRole {
  return services.find(({ name }) => name === service) ?? {};
}

/** Names of the services that lack a container or have an unhealthy one, sorted. */
export function unhealthyServicesAmong(
  observed: { container: ObservedContainer; healthStatus: HealthStatus }[],
  expected: readonly ExpectedService[],
): string[] {
  const unhealthy = new Set(
    observed.filter(({ healthStatus }) => healthStatus !== 'healthy').map(({ container: c }) => c.service),
  );
  for (const { name, replicas } of expected)
    if (observed.filter(({ container }) => container.service === name).length < replicas) unhealthy.add(name);
  return [...unhealthy].sort();
}

/** `web=unhealthy, db=exited(3), job=restarting (4 restarts, last exit 1)`: the services in the line of a failed wait. */
export function describeUnhealthy(watched: WatchedContainer[], unhealthy: string[]): string {
  return unhealthy
    .map((service) => `${service}=${describeService(watched.filter(({ container }) => container.service === service))}`)
    .join(', ');
}

/** State of a service's worst container, with the known details. */
function describeService(watched: WatchedContainer[]): string {
  const worst =
    watched.find(({ healthStatus }) => healthStatus === 'failed') ??
    watched.find((each) => each.healthStatus !== 'healthy');
  const shown = worst ?? watched[0];
  if (!shown) return 'missing';
  if (shown.crashLoop) return describeLoop(shown.crashLoop);
  const details = detailsOf(shown);
  return `${describeState(shown.container)}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}

function describeLoop({ exits, seconds, lastExit }: CrashLoop): string {
  return `crash loop (${exits} exits in ${seconds}s, last exit ${lastExit})`;
}

function describeState(container: ObservedContainer): string {
  if (container.state === 'exited')
    return `exited(${container.exitCode}${container.oomKilled ? ', out of memory' : ''})`;
  return container.state === 'running' ? (container.health ?? container.state) : container.state;
}

function detailsOf({ container, healthStatus, lastExit, job }: WatchedContainer): string[] {
  const { state, health, restarts, oomKilled } = container;
  const unsettled = state === 'running' && health === null && healthStatus === 'pending' && job === undefined;
  const overdueS = job?.overdueS ?? null;
  return [
    ...(state === 'exited' && health !== null ? [health] : []),
    ...(unsettled ? ['not settled'] : []),
    ...(overdueS === null ? [] : [`a job for longer than ${overdueS}s`]),
    ...(restarts > 0 ? [restarts === 1 ? '1 restart' : `${restarts} restarts`] : []),
    ...(state !== 'exited' && lastExit !== null ? [`last exit ${lastExit}`] : []),
    ...(state !== 'exited' && oomKilled ? ['out of memory'] : []),
  ];
}

/** Times in milliseconds since 1970. */
interface TrialTimes {
  appliedMs: number;
  /** How long after the apply a failure counts. */
  windowMs: number;
  /** The last start of the host. */
  bootMs: number;
}

/** Exit codes of a process that was ended from outside: by SIGINT, SIGKILL or SIGTERM. */
const endedFromOutside = [130, 137, 143];

/**
 * The containers that ended with an error so soon after the apply that the release counts as failed. Only a service
 * without a restart policy and without a healthcheck can fail this way. A container that was killed from outside, or
 * ended with the host, is healed; so is a container that the release did not record.
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

/** Health of the containers at one moment. */
export interface HealthSnapshot {
  nowMs: number;
  /** All containers settle from the last start of any, since a new container may break one that ran before. */
  watched: WatchedContainer[];
  /** Each container settles by itself, so that a failed wait does not name one that only waited for another. */
  individually: WatchedContainer[];
  /** Milliseconds until the next decision without a change: containers settle, a job is overdue. */
  remainingMs: number;
}

/**
 * Decides when a wait has failed: at once if a container has, otherwise at the deadline. While jobs run, the wait
 * continues only for them, and after the last one containers may still settle.
 */
export class WaitVerdict {
  readonly #expected: readonly ExpectedService[];
  readonly #settleMs: number;
  readonly #deadlineMs: number;
  #jobSeenMs = -Infinity;

  constructor(
    expected: readonly ExpectedService[],
    { deadlineMs, settleMs }: { deadlineMs: number; settleMs: number },
  ) {
    this.#expected = expected;
    this.#settleMs = settleMs;
    this.#deadlineMs = deadlineMs;
  }

  /** The containers that caused a failed wait; null while it continues. */
  blamed({ nowMs, watched, individually }: HealthSnapshot): WatchedContainer[] | null {
    const jobs = watched.filter(isAwaitedJob);
    const causes = unhealthyServicesAmong(individually, this.#expected).length > 0 ? individually : watched;
    if (watched.some(({ healthStatus }) => healthStatus === 'failed')) return causes;
    const deadlineMs = Math.max(this.#deadlineMs, this.#jobSeenMs + this.#settleMs);
    if (jobs.length > 0) this.#jobSeenMs = nowMs;
    if (jobs.length === 0) return nowMs >= deadlineMs ? causes : null;
    if (nowMs < this.#deadlineMs) return null;
    const others = individually.filter((each) => !isAwaitedJob(each));
    const names = new Set(jobs.map(({ container }) => container.service));
    const expected = this.#expected.filter(({ name }) => !names.has(name));
    return unhealthyServicesAmong(others, expected).length > 0 ? others : null;
  }

  /** Milliseconds until the deadline; Infinity when it has passed. */
  leftMs(nowMs: number): number {
    const ends = [this.#deadlineMs, this.#jobSeenMs + this.#settleMs].filter((endMs) => endMs > nowMs);
    return Math.min(...ends) - nowMs;
  }
}

/** True for a running job within its time limit. */
function isAwaitedJob({ healthStatus, job }: WatchedContainer): boolean {
  return healthStatus === 'pending' && job !== undefined && job.overdueS === null;
}
