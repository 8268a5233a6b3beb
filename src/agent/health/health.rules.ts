import type { ReportedContainer, ServiceProblem } from '../../../machines/types.ts';
import {
  type InspectedContainer,
  isRestartedByEngine,
  type ObservedContainer,
  type SharedNamespace,
  type TimedExit,
} from '../engine/container.rules.ts';
import { hasSucceeded, isJob, type ServiceRole } from '../release/services.rules.ts';
import type { State } from '../state/state.rules.ts';

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

/** Times that decide whether a start of a container is recent. */
export interface CrashWindow {
  nowMs: number;
  /** The last observation of the host; after a tick that found it healthy, the end of that tick. */
  observedMs: number;
  settleMs: number;
  intervalMs: number;
}

/** The last observation of the containers; 0 if there was none, or if the clock has been set back since. */
export function lastObservedMs(
  { last_check_in, last_outcome }: Pick<State, 'last_check_in' | 'last_outcome'>,
  nowMs: number,
): number {
  const wasHealthy = last_outcome?.outcome === 'applied' || last_outcome?.outcome === 'heartbeat';
  const times = [timeOf(last_check_in?.at), wasHealthy ? timeOf(last_outcome.at) : 0];
  return Math.max(0, ...times.filter((ms) => ms <= nowMs));
}

/** True when a running container may have been started since the last observation, or has not settled, by the uptime in the engine's list. */
export function mayHaveCrashed(
  container: ObservedContainer,
  { nowMs, observedMs, settleMs, intervalMs }: CrashWindow,
): boolean {
  if (container.state !== 'running') return false;
  const [minMs, maxMs] = 'upMs' in container ? container.upMs : [0, 0];
  const isRecent = minMs < Math.max(settleMs, intervalMs);
  return isRecent && (minMs < settleMs || maxMs <= nowMs - observedMs);
}

/**
 * True when a container crashed and was restarted by the engine since the last observation, or has not settled after that. The
 * engine resets its restart count when anybody else starts the container, so a count above 0 means that the engine made the
 * last start. A container that has run for an interval is healthy again; a start in the future (a clock set back) is ignored.
 */
export function hasCrashed({ state, health, restarts, startedMs }: InspectedContainer, window: CrashWindow): boolean {
  return state === 'running' && health === null && restarts > 0 && isRecentCrash(startedMs, window);
}

/** True for a crash since the last observation, or one so recent that the restarted container has not settled. */
export function isRecentCrash(atMs: number, { nowMs, observedMs, settleMs, intervalMs }: CrashWindow): boolean {
  const sinceMs = nowMs - atMs;
  return sinceMs >= 0 && (sinceMs < settleMs || (atMs > observedMs && sinceMs < Math.max(settleMs, intervalMs)));
}

function timeOf(at: string | undefined): number {
  return at === undefined ? 0 : Date.parse(at);
}

/** A container that ended too often in too short a time. */
export interface CrashLoop {
  exits: number;
  /** From the first of these exits to the last one. */
  seconds: number;
  lastExit: number;
}

/** So many exits within this time are a crash loop. */
const [loopExits, loopMs] = [3, 30_000];

/**
 * A crash loop among the exits of a container, oldest first; null if there is none. An exit with 0 is the end of a
 * container that the engine restarts only after a failure.
 */
export function findCrashLoop(
  container: Pick<InspectedContainer, 'restartPolicy'>,
  exits: readonly TimedExit[],
): CrashLoop | null {
  const crashes = isRestartedByEngine(container) ? exits : exits.filter(({ code }) => code !== 0);
  for (const [index, first] of crashes.entries()) {
    const last = crashes[index + loopExits - 1];
    if (last === undefined || last.atMs - first.atMs > loopMs) continue;
    const seconds = Math.round((last.atMs - first.atMs) / 1000);
    return { exits: loopExits, seconds, lastExit: last.code };
  }
  return null;
}

/** The exits of containers by their restart counts, for an engine that sends no events: each at its first observation. */
export class RestartCounts {
  readonly #counts = new Map<string, number>();
  readonly #exits = new Map<string, TimedExit[]>();

  /** The exits of a container that were observed so far, with `code` as the exit code of the last one. */
  exitsOf({ id, restarts }: InspectedContainer, { nowMs, code }: { nowMs: number; code: number }): TimedExit[] {
    const known = this.#counts.get(id) ?? restarts;
    this.#counts.set(id, restarts);
    const exits = this.#exits.get(id) ?? [];
    for (let count = Math.max(known, restarts - loopExits); count < restarts; count += 1)
      exits.push({ atMs: nowMs, code });
    this.#exits.set(id, exits.slice(-loopExits));
    return exits.slice(-loopExits);
  }
}
