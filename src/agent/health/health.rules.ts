import type { ReportedContainer, ServiceProblem } from '../../../machines/types.ts';
import {
  type InspectedContainer,
  isRestartedByEngine,
  type ObservedContainer,
  type SharedNamespace,
} from '../engine/container.rules.ts';
import { hasSucceeded, isJob, type ServiceRole } from '../release/services.rules.ts';

/** `healthy`: healthy, settled or finished; `pending`: may become healthy; `failed`: will not without intervention. */
export type HealthStatus = 'healthy' | 'pending' | 'failed';

/**
 * Determines the health of one container. `settled`: it has run without a restart for the settle time, which counts
 * without a healthcheck. A running container that is unhealthy is pending: its healthcheck may still succeed in time.
 */
export function healthStatusOf(container: ObservedContainer, settled: boolean, role: ServiceRole = {}): HealthStatus {
  if (container.state === 'exited')
    return isRestartedByEngine(container) ? 'pending' : hasSucceeded(container, role) ? 'healthy' : 'failed';
  const { state, health } = container;
  if (state === 'dead') return 'failed';
  if (state !== 'running' || isJob(role, container)) return 'pending';
  if (health !== null) return health === 'healthy' ? 'healthy' : 'pending';
  return settled ? 'healthy' : 'pending';
}

/** A container as check-ins and reports show it. */
export function reportedContainerOf(container: ObservedContainer): ReportedContainer {
  const { service, name, state, health } = container;
  const exitCode = container.state === 'exited' || container.state === 'dead' ? container.exitCode : null;
  return { service, name, state, health, exit_code: exitCode };
}

type ServiceContainer = Pick<InspectedContainer, 'id' | 'service'>;

/**
 * Services with new containers (`services`), with unchanged containers, and without remaining containers; names,
 * sorted.
 */
export function compareContainers(
  before: ServiceContainer[],
  after: ServiceContainer[],
): Record<'services' | 'untouched' | 'gone', string[]> {
  const known = new Set(before.map(({ id }) => id));
  const newServices = serviceNamesOf(after.filter(({ id }) => !known.has(id)));
  const remaining = serviceNamesOf(after);
  return {
    services: newServices,
    untouched: remaining.filter((name) => !newServices.includes(name)),
    gone: serviceNamesOf(before).filter((name) => !remaining.includes(name)),
  };
}

function serviceNamesOf(containers: ServiceContainer[]): string[] {
  return [...new Set(containers.map(({ service }) => service))].sort();
}

/** The last `compose up` of this tick. */
export interface ReleaseStart {
  /** Milliseconds of the monotonic clock. */
  atMs: number;
  /** How far the wall clock, which the engine's times refer to, was ahead of the monotonic clock. */
  clockOffsetMs: number;
  /** The last start of each container before that, by id, in the engine's time. */
  starts: ReadonlyMap<string, number>;
}

/** A smaller difference is drift or slewing, not a step of the wall clock. */
const minClockStepMs = 1000;

/**
 * The start of each container's run by the monotonic clock. It is the engine's start time, converted from the wall
 * clock. If the wall clock was set meanwhile, or the start is in the future, it is the time of the first observation
 * (spec §12.4).
 */
export class ContainerUptime {
  readonly #lastStart: ReleaseStart;
  /** First observation of each run, by container, start and restarts. */
  readonly #firstObserved = new Map<string, number>();

  constructor(lastStart: ReleaseStart) {
    this.#lastStart = lastStart;
  }

  /** Monotonic milliseconds, null for a container that does not run; `aheadMs` is the wall clock's offset at `nowMs`. */
  runningSinceMs(
    { id, state, startedMs, restarts }: InspectedContainer,
    { nowMs, aheadMs }: { nowMs: number; aheadMs: number },
  ): number | null {
    if (state !== 'running') return null;
    const run = `${id} ${startedMs} ${restarts}`;
    const firstObservedMs = this.#firstObserved.get(run) ?? nowMs;
    this.#firstObserved.set(run, firstObservedMs);
    const { clockOffsetMs } = this.#lastStart;
    const clockWasSet = Math.abs(aheadMs - clockOffsetMs) > minClockStepMs;
    const reportedMs = startedMs - clockOffsetMs;
    return !clockWasSet && reportedMs <= firstObservedMs ? reportedMs : firstObservedMs;
  }
}

/**
 * The containers that prevented a release from starting: containers that ended with an error since the start, that the
 * engine could not start, or that compose's output calls unhealthy. `starts` contains the previous starts.
 */
export function failedAtStart(
  containers: readonly InspectedContainer[],
  { starts, output }: { starts: ReadonlyMap<string, number>; output: string },
): InspectedContainer[] {
  const hasEnded = ({ id, state, exitCode, startedMs }: InspectedContainer) =>
    ['exited', 'dead', 'restarting'].includes(state) && exitCode !== 0 && starts.get(id) !== startedMs;
  const isBlamed = ({ name, health }: InspectedContainer) =>
    health === 'unhealthy' && output.includes(`${name} is unhealthy`);
  return containers.filter((each) => each.startError !== '' || hasEnded(each) || isBlamed(each));
}

/** The containers whose namespaces others share, by the stored id or name; null for a container that is gone. */
type NamespaceOwners = ReadonlyMap<string, InspectedContainer | null>;

/**
 * The containers that share a namespace of a container which is gone or was started after them: such a network
 * namespace has only its loopback interface. `ownerOf` returns the service that owns it.
 */
export function deadNamespaces(
  members: readonly InspectedContainer[],
  owners: NamespaceOwners,
  ownerOf: (service: string, part: SharedNamespace['part']) => string | undefined,
): ServiceProblem[] {
  return members.flatMap((member) =>
    (member.shares ?? []).flatMap(({ part, owner: reference }): ServiceProblem[] => {
      const owner = owners.get(reference);
      const cure = owner === undefined ? null : cureOf(member, owner);
      if (cure === null) return [];
      const name = ownerOf(member.service, part) ?? owner?.service ?? reference.slice(0, 12);
      const detail = `keeps the dead ${part} namespace of ${name}`;
      return [{ service: member.service, detail, cure, containers: [member.id], isFailure: true }];
    }),
  );
}

/**
 * A container that has ended successfully, and one whose owner does not run, are left alone; that owner is reported by
 * itself.
 */
function cureOf(member: InspectedContainer, owner: InspectedContainer | null): 'restart' | 'recreate' | null {
  if (owner === null) return healthStatusOf(member, false) === 'healthy' && !isRunning(member) ? null : 'recreate';
  return isRunning(member) && owner.state === 'running' && owner.startedMs > member.startedMs ? 'restart' : null;
}

function isRunning({ state }: InspectedContainer): boolean {
  return state === 'running' || state === 'restarting';
}
