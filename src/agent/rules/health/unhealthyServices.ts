import { healthStatusOf, type InspectedContainer, type ObservedContainer, type HealthStatus } from './health.ts';

/** A service of a release. */
export interface ExpectedService {
  name: string;
  replicas: number;
}

/** The last observation of a container during a wait. */
export interface WatchedContainer {
  container: InspectedContainer;
  healthStatus: HealthStatus;
  /** Code of the last observed exit; null when there was none. */
  lastExit: number | null;
}

/**
 * Names of the services that lack a container or have an unhealthy one, sorted. A tick looks once, so it takes running
 * containers as settled, and `observeHost` adds those restarted since the previous tick. In an apply `waitUntilHealthy`
 * measures which have settled.
 */
export function unhealthyServicesOf(containers: ObservedContainer[], expected: readonly ExpectedService[]): string[] {
  return unhealthyServicesAmong(
    containers.map((container) => ({ container, healthStatus: healthStatusOf(container, true) })),
    expected,
  );
}

/** The same for containers whose health status is known. */
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
  const details = detailsOf(shown);
  return `${describeState(shown.container)}${details.length > 0 ? ` (${details.join(', ')})` : ''}`;
}

function describeState({ state, health, exitCode, oomKilled }: InspectedContainer): string {
  if (state === 'exited') return `exited(${exitCode}${oomKilled ? ', out of memory' : ''})`;
  return state === 'running' ? (health ?? state) : state;
}

function detailsOf({ container, healthStatus, lastExit }: WatchedContainer): string[] {
  const { state, health, restarts, oomKilled } = container;
  const unsettled = state === 'running' && health === null && healthStatus === 'pending';
  return [
    ...(state === 'exited' && health !== null ? [health] : []),
    ...(unsettled ? ['not settled'] : []),
    ...(restarts > 0 ? [restarts === 1 ? '1 restart' : `${restarts} restarts`] : []),
    ...(state !== 'exited' && lastExit !== null ? [`last exit ${lastExit}`] : []),
    ...(state !== 'exited' && oomKilled ? ['out of memory'] : []),
  ];
}
