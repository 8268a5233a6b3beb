import type { ReportedContainer, Sha } from '../../../machines/types.ts';
import { printable } from '../../core/text.rules.ts';
import { type CrashWindow, type HealthStatus, isRecentCrash } from '../health/health.rules.ts';
import { type ExpectedService, isJob, type ServiceRole } from '../release/services.rules.ts';
import { newestTasks, serviceNameOf, type StackFacts, type StackTask, type SwarmService } from './stackTask.rules.ts';

/** One service of a stack at one moment. */
export interface StackService {
  name: string;
  /** `healthy`: all of its tasks run with the current definition, or have finished. */
  status: HealthStatus;
  /** The problem; '' if there is none. */
  trouble: string;
  tasks: readonly StackTask[];
  /** True for a job that has not ended yet. */
  isRunningJob: boolean;
}

/** The release that should run. */
interface Release {
  sha: Sha;
  services: readonly ExpectedService[];
}

/** Each service of the stack and of the release, sorted by name. */
export function stackServicesOf(facts: StackFacts, release: Release): StackService[] {
  const tasks = newestTasks(facts);
  const found = facts.services.map((service): StackService => {
    const name = serviceNameOf(service, facts.project);
    const own = tasks.filter((task) => task.service === name);
    const isOther = service.Spec.Labels?.['deployd.sha'] !== release.sha;
    const role = release.services.find((each) => each.name === name) ?? {};
    const job = isJobOf(service, role, own);
    const verdict = isOther ? { status: 'pending' as const, trouble: 'of another release' } : judge(service, own, job);
    const isRunningJob = job && !isOther && own.some(({ state, isCurrent }) => isCurrent && state === 'running');
    return { name, tasks: own, isRunningJob, ...verdict };
  });
  const missing = release.services
    .filter(({ name }) => !found.some((service) => service.name === name))
    .map(({ name }): StackService => ({
      ...{ name, status: 'pending', trouble: 'missing', tasks: [], isRunningJob: false },
    }));
  return [...found, ...missing].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** The task as check-ins and reports show it; with a healthcheck, a swarm reports only healthy tasks as running. */
export function reportedTaskOf({ service, name, state, exitCode, hasHealthcheck }: StackTask): ReportedContainer {
  const isHealthKnown = hasHealthcheck && (state === 'running' || state === 'starting');
  const health = isHealthKnown ? (state === 'running' ? 'healthy' : 'starting') : null;
  return { service, name, state, health, exit_code: exitCode };
}

/** The tasks that replace a recently ended one; with a healthcheck, the healthcheck decides. */
export function crashedTasks(services: readonly StackService[], window: CrashWindow): StackTask[] {
  return services
    .flatMap(({ tasks }) => tasks)
    .filter(
      ({ state, hasHealthcheck, lastEndMs }) =>
        state === 'running' && !hasHealthcheck && lastEndMs !== null && isRecentCrash(lastEndMs, window),
    );
}

/** The tasks that replaced tasks on a lost node since the last observation. */
export function movedTasks(services: readonly StackService[], { observedMs }: { observedMs: number }): StackTask[] {
  const tasks = services.flatMap((service) => service.tasks);
  return tasks.filter(({ movedFrom, createdMs }) => movedFrom !== null && createdMs > observedMs);
}

/** `web: web.1@worker-1 rejected (No such image); api: update paused`: the services that are not healthy. */
export function describeStack(services: readonly StackService[]): string {
  return services
    .filter(({ status }) => status !== 'healthy')
    .map(({ name, trouble }) => `${name}: ${trouble}`)
    .join('; ');
}

/** Hostnames of the nodes whose tasks are not healthy, sorted. */
export function unhealthyNodes(services: readonly StackService[]): string[] {
  const tasks = services.filter(({ status }) => status !== 'healthy').flatMap((service) => service.tasks);
  const nodes = tasks.filter((task) => statusOf(task) !== 'healthy').map(({ node }) => node);
  return [...new Set(nodes)].filter((node) => node !== null).sort();
}

/** A job of the swarm, or a job according to the release. */
function isJobOf({ Spec }: SwarmService, role: ServiceRole, tasks: readonly StackTask[]): boolean {
  if (Spec.Mode?.ReplicatedJob !== undefined || Spec.Mode?.GlobalJob !== undefined) return true;
  return isJob(role, { health: tasks.some(({ hasHealthcheck }) => hasHealthcheck) ? '' : null });
}

function judge(
  service: SwarmService,
  tasks: readonly StackTask[],
  job: boolean,
): Pick<StackService, 'status' | 'trouble'> {
  const { State: update = '', Message: message = '' } = service.UpdateStatus ?? {};
  if (update === 'paused' || update.startsWith('rollback_'))
    return { status: 'failed', trouble: printable(`update ${update}: ${message}`) };
  const judged = service.Spec.Mode?.Global === undefined ? tasks : tasks.filter((task) => !isEnded(task));
  const failed = judged.find((task) => statusOf(task) === 'failed');
  const running = job && judged.find(({ state }) => state === 'running');
  if (failed) return { status: 'failed', trouble: describeTask(failed) };
  const pending = judged.find((task) => statusOf(task) === 'pending');
  if (pending) return { status: 'pending', trouble: describeTask(pending) };
  if (running) return { status: 'pending', trouble: `${running.name} is a job that has not ended` };
  const wanted = service.ServiceStatus?.DesiredTasks ?? 0;
  if (tasks.length < wanted) return { status: 'pending', trouble: `${tasks.length} of ${wanted} tasks` };
  return update === 'updating' ? { status: 'pending', trouble: 'updating' } : { status: 'healthy', trouble: '' };
}

/** An ended task is pending while the swarm starts a replacement, otherwise failed. */
function statusOf(task: StackTask): HealthStatus {
  const { state, isCurrent, restarts, exitCode } = task;
  if (state === 'rejected') return 'failed';
  if (!isCurrent || isEnded(task)) return 'pending';
  if (state === 'running') return 'healthy';
  if (state === 'complete') return restarts === 'any' || (exitCode ?? 0) !== 0 ? 'pending' : 'healthy';
  return state === 'failed' && restarts === 'none' ? 'failed' : 'pending';
}

/** True for a task that the swarm has ended: its node is drained or lost, or has changed its role. */
function isEnded({ isToRun, state }: StackTask): boolean {
  return !isToRun && !['complete', 'failed', 'rejected'].includes(state);
}

function describeTask(task: StackTask): string {
  const { name, state, error, exitCode, isCurrent } = task;
  if (!isCurrent && state === 'running') return `${name} runs as before`;
  if (state === 'running' && isEnded(task)) return `${name} is to end`;
  const details = [error, exitCode === null ? '' : `exit ${exitCode}`].filter((detail) => detail !== '').join(', ');
  return printable(`${name} ${state}${details === '' ? '' : ` (${details})`}`);
}

/**
 * The services that the swarm leaves without a task. A task that the swarm treats as a job ends with its node, or when
 * a manager becomes a worker, and deploying the same definition changes nothing.
 */
export function servicesWithoutTask(
  { project, services }: StackFacts,
  judged: readonly StackService[],
): SwarmService[] {
  const isWithout = ({ status, tasks }: StackService) =>
    status !== 'healthy' && tasks.some((task) => task.isCurrent && !task.isToRun && statusOf(task) !== 'healthy');
  const names = new Set(judged.filter(isWithout).map(({ name }) => name));
  return services.filter((service) => names.has(serviceNameOf(service, project)));
}

/**
 * The services with a task that has no node and is older than their last update. The swarm's scheduler may have dropped
 * it, and then no longer looks for a node, even if new nodes join.
 */
export function servicesWithDroppedTask({ services, ...facts }: StackFacts): SwarmService[] {
  const unassigned = newestTasks({ ...facts, services }).filter((task) => task.isCurrent && isUnassigned(task));
  return services.filter((service) => {
    const updatedMs = Date.parse(service.UpdatedAt);
    const name = serviceNameOf(service, facts.project);
    return unassigned.some((task) => task.service === name && task.createdMs < updatedMs);
  });
}

/**
 * True when the release is deployed, and only lacks nodes for some of its tasks. Deploying it again would make the
 * scheduler drop these.
 */
export function waitsForNodes({ services }: StackFacts, judged: readonly StackService[], sha: Sha): boolean {
  const unhealthy = judged.filter(({ status }) => status !== 'healthy');
  return (
    unhealthy.length > 0 &&
    services.every(({ Spec }) => Spec.Labels?.['deployd.sha'] === sha) &&
    unhealthy.every(
      ({ status, tasks }) =>
        status === 'pending' &&
        tasks.some(isUnassigned) &&
        tasks.every((task) => isUnassigned(task) || statusOf(task) === 'healthy'),
    )
  );
}

/** States of a task until a node is chosen for it. */
const unassignedStates = new Set(['new', 'allocated', 'pending']);

function isUnassigned({ node, state, isToRun }: StackTask): boolean {
  return node === null && isToRun && unassignedStates.has(state);
}
