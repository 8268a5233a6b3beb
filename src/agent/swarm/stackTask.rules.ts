import type { SwarmNode } from './swarmState.rules.ts';

/** The template of a service's tasks. It contains the environment, and so secrets. */
export interface TaskSpec {
  ContainerSpec?: { Image?: string; Healthcheck?: { Test?: string[] | null } | null };
  RestartPolicy?: { Condition?: string };
  Runtime?: string;
  Placement?: object;
  /** Number of requests for new tasks without a change. */
  ForceUpdate?: number;
}

/** A service, in the fields that are used. */
export interface SwarmService {
  ID: string;
  UpdatedAt: string;
  Version: { Index: number };
  Spec: {
    Name: string;
    Labels?: Record<string, string> | null;
    TaskTemplate: TaskSpec;
    Mode?: { Global?: object; ReplicatedJob?: object; GlobalJob?: object };
  };
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

/** The newest task of a slot that should run, or the newest of all if there is none; without secrets. */
export interface StackTask {
  id: string;
  service: string;
  /** `web.1@manager-2`, `web.1` until a node is chosen. */
  name: string;
  /** Hostname of its node; null until one is chosen. */
  node: string | null;
  /** The state in the swarm: `pending`, `preparing`, `starting`, `running`, `complete`, `failed`, `rejected` … */
  state: string;
  exitCode: number | null;
  /** The swarm's error message; '' without an error. */
  error: string;
  hasHealthcheck: boolean;
  /** True when it matches the current definition of the service. */
  isCurrent: boolean;
  /** False once the swarm has ended it, or it has ended by itself. */
  isToRun: boolean;
  /** Whether the swarm starts a replacement when it ends: `any`, `on-failure`, `none`. */
  restarts: string;
  /** The newest task of its slot with the same template that may have printed something; null if there is none. */
  printedId: string | null;
  createdMs: number;
  /** Hostname of the lost node of the previous task in its slot; null if there is none. */
  movedFrom: string | null;
  /** When its last predecessor with the same template ended by itself; null if none did. */
  lastEndMs: number | null;
}

/** The observed facts of a stack at one moment. */
export interface StackFacts {
  project: string;
  services: readonly SwarmService[];
  tasks: readonly SwarmTask[];
  nodes: readonly SwarmNode[];
}

/** The newest task of each slot of each service, sorted by name. */
export function newestTasks({ project, services, tasks, nodes }: StackFacts): StackTask[] {
  const hostnames = new Map(nodes.map(({ ID, Description }) => [ID, Description.Hostname]));
  const lost = new Set(nodes.filter(({ Status }) => Status?.State === 'down').map(({ ID }) => ID));
  return services
    .flatMap((service) => {
      const own = tasks.filter(({ ServiceID }) => ServiceID === service.ID);
      return [...Map.groupBy(own, slotOf).values()].map((slot) =>
        newestOf(slot, { service, project, hostnames, lost }),
      );
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
  /** Ids of the nodes that do not answer. */
  lost: ReadonlySet<string>;
}

function newestOf(slot: SwarmTask[], { service, project, hostnames, lost }: SlotContext): StackTask {
  const [newest, ...earlier] = slot.toSorted(byPrecedence) as [SwarmTask, ...SwarmTask[]];
  const { ContainerSpec, RestartPolicy } = service.Spec.TaskTemplate;
  const [wanted, state] = [service.Spec.TaskTemplate, newest.Status.State];
  const same = [newest, ...earlier].filter(({ Spec }) => isSame(Spec, wanted));
  const before = same.find((task) => task.NodeID !== newest.NodeID);
  const ends = same.filter((task) => task !== newest && endedByItself(task));
  const name = serviceNameOf(service, project);
  const place = newest.Slot === undefined || newest.Slot === 0 ? '' : `.${newest.Slot}`;
  const hostname = hostnames.get(newest.NodeID ?? '');
  return {
    id: newest.ID,
    service: name,
    name: `${name}${place}${hostname === undefined ? '' : `@${hostname}`}`,
    node: hostname ?? null,
    state,
    exitCode: endedByItself(newest) ? (newest.Status.ContainerStatus?.ExitCode ?? null) : null,
    error: newest.Status.Err ?? '',
    hasHealthcheck: !['NONE', undefined].includes(ContainerSpec?.Healthcheck?.Test?.[0]),
    isCurrent: isSame(newest.Spec, wanted),
    isToRun: isToRun(newest),
    restarts: RestartPolicy?.Condition ?? 'any',
    printedId: same.find(({ Status }) => startedStates.has(Status.State))?.ID ?? null,
    createdMs: Date.parse(newest.CreatedAt),
    movedFrom: lost.has(before?.NodeID ?? '') ? (hostnames.get(before?.NodeID ?? '') ?? null) : null,
    lastEndMs: ends.length === 0 ? null : Math.max(...ends.map(({ Status }) => Date.parse(Status.Timestamp))),
  };
}

/**
 * Both come from one engine, which writes the same fields in the same order, except that only services have the
 * runtime. The swarm keeps a task on a matching node when its placement changes; a bundle that changes the placement
 * also changes a label.
 */
function isSame(one: TaskSpec, other: TaskSpec): boolean {
  const compared = (spec: TaskSpec) => JSON.stringify({ ...spec, Runtime: undefined, Placement: undefined });
  return compared(one) === compared(other);
}

/**
 * The swarm creates a second task in a slot when a node is lost, and ends that task, although it is newer, when the
 * node returns.
 */
function byPrecedence(a: SwarmTask, b: SwarmTask): number {
  return Number(isToRun(b)) - Number(isToRun(a)) || Date.parse(b.CreatedAt) - Date.parse(a.CreatedAt);
}

function isToRun({ DesiredState }: SwarmTask): boolean {
  return !['shutdown', 'remove'].includes(DesiredState);
}

/** States of a task whose container was started. */
const startedStates = new Set(['starting', 'running', 'complete', 'shutdown', 'failed']);

function endedByItself({ Status }: SwarmTask): boolean {
  return ['complete', 'failed', 'rejected'].includes(Status.State);
}
