import type { ReportedContainer } from '../../../../machines/types.ts';
import type { JobReason, ServiceKind } from '../../../bundle/plan/writtenServices.rules.ts';
import type { LogExcerpt } from './containerLog.ts';

/** A namespace of another container that a container shares. */
export interface SharedNamespace {
  part: 'network' | 'pid' | 'ipc';
  /** Id or name of the other container. */
  owner: string;
}

/** One container by its inspection. */
export interface InspectedContainer {
  id: string;
  service: string;
  /** Created by `compose run`: it uses resources, but is no part of the service. */
  oneOff: boolean;
  name: string;
  /** `created`, `running`, `paused`, `restarting`, `removing`, `exited`, `dead`. */
  state: string;
  /** `starting`, `healthy` or `unhealthy`, in every state; null without a healthcheck. */
  health: string | null;
  exitCode: number;
  /** The kernel ended a process of its last run because it was out of memory. */
  oomKilled: boolean;
  /** The engine's message why it could not start the container; '' when it could. */
  startError: string;
  /** Last start by the engine's clock, in milliseconds since 1970. */
  startedMs: number;
  /** Its creation by the engine's clock, in milliseconds since 1970. */
  createdMs: number;
  /** Its last end in the same way; absent for one that never ended. */
  finishedMs?: number;
  /** Restarts by the engine since the last start by anybody else. */
  restarts: number;
  /** Failed health probes in a row, and how many of them make it unhealthy. */
  failingStreak: number;
  retries: number;
  /** `no`, `always`, `on-failure`, `unless-stopped`. */
  restartPolicy: string;
  /** Absent where there are none. */
  shares?: readonly SharedNamespace[];
  image: string;
  imageId: string;
  /** Sources of its mounts on the host. */
  mounts: string[];
  /** Output of its last health probes. */
  healthLog: LogExcerpt[];
}

/** A running container by the engine's list, which does not contain the environment. */
export type ListedContainer = Pick<InspectedContainer, 'id' | 'service' | 'name' | 'health' | 'shares'> & {
  state: 'running';
  /** Minimum (included) and maximum (excluded) of its uptime, in milliseconds. */
  upMs: [number, number];
};

/** A container, inspected only when its list entry does not suffice to judge its health. */
export type ObservedContainer = ListedContainer | InspectedContainer;

/** The engine's health status; null without a healthcheck, for which Docker sends nothing or `none`, Podman ''. */
export function parseHealth(status: string | undefined): string | null {
  return status === undefined || status === '' || status === 'none' ? null : status;
}

/** `healthy`: healthy, settled or finished; `pending`: may become healthy; `failed`: will not without intervention. */
export type HealthStatus = 'healthy' | 'pending' | 'failed';

/** What a release says of a service's end; nothing in a record of an older version, where the container alone decides. */
export interface ServiceRole {
  kind?: ServiceKind;
  job_by?: JobReason;
}

/** True for a container that is awaited until it ends. One that only has no restart policy is none with a healthcheck. */
export function isJob({ kind, job_by }: ServiceRole, { health }: Pick<ObservedContainer, 'health'>): boolean {
  return kind === 'job' && (job_by !== 'restart' || health === null);
}

/**
 * Judges one container. `settled`: it has run without a restart for the settle time, which counts without a healthcheck.
 * A running container that is unhealthy is pending: its healthcheck may still succeed within the time that it is given.
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

/** Services with new containers (`services`), with unchanged containers, and without any left; names, sorted. */
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

/** True for a one-shot that has finished and will not be restarted by the engine. */
export function isFinished(container: InspectedContainer, role: ServiceRole = {}): boolean {
  return container.state === 'exited' && !isRestartedByEngine(container) && hasSucceeded(container, role);
}

function hasSucceeded(container: InspectedContainer, role: ServiceRole): boolean {
  return container.exitCode === 0 && (container.health === null || isJob(role, container));
}

/** True for a container that the engine starts again after every end. */
export function isRestartedByEngine({ restartPolicy }: Pick<InspectedContainer, 'restartPolicy'>): boolean {
  return restartPolicy === 'always' || restartPolicy === 'unless-stopped';
}
