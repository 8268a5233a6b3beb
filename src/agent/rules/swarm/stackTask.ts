import type { SwarmNode } from './leadership.ts';

/** What the tasks of a service are made of. It contains the environment, and so secrets. */
export interface TaskSpec {
  ContainerSpec?: { Image?: string; Healthcheck?: { Test?: string[] | null } | null };
  RestartPolicy?: { Condition?: string };
  Runtime?: string;
}

/** A service, in the fields that are used. */
export interface SwarmService {
  ID: string;
  Spec: { Name: string; Labels?: Record<string, string> | null; TaskTemplate: TaskSpec };
  UpdateStatus?: { State?: string; Message?: string };
  ServiceStatus?: { DesiredTasks: number };
}

/** A task, in the fields that are used. */
export interface SwarmTask {
  ID: string;
  CreatedAt: string;
  ServiceID: string;
  /** Absent until a node is chosen. */
  NodeID?: string;
  /** Absent in a service that runs one task on each node. */
  Slot?: number;
  DesiredState: string;
  Spec: TaskSpec;
  Status: { Timestamp: string; State: string; Err?: string; ContainerStatus?: { ExitCode?: number } };
}

/** The newest task of a slot that is to run, or the newest of all where none is; without anything secret. */
export interface StackTask {
  id: string;
  service: string;
  /** `web.1@manager-2`, `web.1` until a node is chosen. */
  name: string;
  /** As the swarm says it: `pending`, `preparing`, `starting`, `running`, `complete`, `failed`, `rejected` … */
  state: string;
  exitCode: number | null;
  /** The swarm's words for its trouble; '' without. */
  error: string;
  hasHealthcheck: boolean;
  /** True when it is made of what the service is now. */
  isCurrent: boolean;
  /** Whether the swarm starts another one in its place when it ends: `any`, `on-failure`, `none`. */
  restarts: string;
  /** The newest task of its slot that is made of the same, and may have printed something; null without one. */
  printedId: string | null;
  /** When its last predecessor of the same making ended by itself; null when none did. */
  lastEndMs: number | null;
}

/** What is known of a stack at one moment. */
export interface StackFacts {
  project: string;
  services: readonly SwarmService[];
  tasks: readonly SwarmTask[];
  nodes: readonly SwarmNode[];
}

/** The newest task of each slot of each service, sorted by name. */
export function newestTasks({ project, services, tasks, nodes }: StackFacts): StackTask[] {
  const hostnames = new Map(nodes.map(({ ID, Description }) => [ID, Description.Hostname]));
  return services
    .flatMap((service) => {
      const own = tasks.filter(({ ServiceID }) => ServiceID === service.ID);
      return [...Map.groupBy(own, slotOf).values()].map((slot) => newestOf(slot, { service, project, hostnames }));
    })
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The name of a service in the compose file. */
export function serviceNameOf({ Spec }: SwarmService, project: string): string {
  return Spec.Name.slice(project.length + 1);
}

function slotOf({ Slot, NodeID }: SwarmTask): string {
  return Slot === undefined || Slot === 0 ? (NodeID ?? '') : String(Slot);
}

interface SlotContext {
  service: SwarmService;
  project: string;
  hostnames: ReadonlyMap<string, string>;
}

function newestOf(slot: SwarmTask[], { service, project, hostnames }: SlotContext): StackTask {
  const [newest, ...earlier] = slot.toSorted(byPrecedence) as [SwarmTask, ...SwarmTask[]];
  const { ContainerSpec, RestartPolicy } = service.Spec.TaskTemplate;
  const [wanted, state] = [service.Spec.TaskTemplate, newest.Status.State];
  const same = [newest, ...earlier].filter(({ Spec }) => isSame(Spec, wanted));
  const ends = same.filter((task) => task !== newest && endedByItself(task));
  const name = serviceNameOf(service, project);
  const place = newest.Slot === undefined || newest.Slot === 0 ? '' : `.${newest.Slot}`;
  const hostname = hostnames.get(newest.NodeID ?? '');
  return {
    id: newest.ID,
    service: name,
    name: `${name}${place}${hostname === undefined ? '' : `@${hostname}`}`,
    state,
    exitCode: endedByItself(newest) ? (newest.Status.ContainerStatus?.ExitCode ?? null) : null,
    error: newest.Status.Err ?? '',
    hasHealthcheck: !['NONE', undefined].includes(ContainerSpec?.Healthcheck?.Test?.[0]),
    isCurrent: isSame(newest.Spec, wanted),
    restarts: RestartPolicy?.Condition ?? 'any',
    printedId: same.find(({ Status }) => startedStates.has(Status.State))?.ID ?? null,
    lastEndMs: ends.length === 0 ? null : Math.max(...ends.map(({ Status }) => Date.parse(Status.Timestamp))),
  };
}

/** Both come from one engine, which writes the same fields in the same order, but the runtime of services only. */
function isSame(one: TaskSpec, other: TaskSpec): boolean {
  return JSON.stringify({ ...one, Runtime: undefined }) === JSON.stringify({ ...other, Runtime: undefined });
}

/**
 * The swarm makes a second task of a slot when it takes a node for lost, and ends that one, though it is newer, when the node
 * is back.
 */
function byPrecedence(a: SwarmTask, b: SwarmTask): number {
  const isToRun = ({ DesiredState }: SwarmTask) => Number(!['shutdown', 'remove'].includes(DesiredState));
  return isToRun(b) - isToRun(a) || Date.parse(b.CreatedAt) - Date.parse(a.CreatedAt);
}

/** States of a task whose container was started. */
const startedStates = new Set(['starting', 'running', 'complete', 'shutdown', 'failed']);

function endedByItself({ Status }: SwarmTask): boolean {
  return ['complete', 'failed', 'rejected'].includes(Status.State);
}
