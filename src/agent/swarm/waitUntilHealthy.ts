import { setTimeout as pause } from 'node:timers/promises';
import { failedFault, Fault, throwIfStopped } from '../../../machines/fault.ts';
import type { ServiceProblem, Sha } from '../../../machines/types.ts';
import { monotonicMs } from '../../core/clock.ts';
import { causeLine, causePrinted, causeSaid } from '../../core/failureCauses.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import { logTailOf, redactExcerpts, unreadableLog } from '../engine/containerLogs.ts';
import { crashWindowOf, type ObserverDependencies } from '../health/observeHost.ts';
import type { AppliedRelease, Observation } from '../release/orchestrator.ts';
import { expectedServices, type ReleaseRecord } from '../release/record.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import { openSwarm, type SwarmAdapters } from './openSwarm.ts';
import type { SharedState } from './sharedState.ts';
import {
  crashedTasks,
  describeStack,
  movedTasks,
  reportedTaskOf,
  type StackService,
  stackServicesOf,
  unhealthyNodes,
} from './stackHealth.rules.ts';
import { newestTasks, type StackFacts, type StackTask } from './stackTask.rules.ts';
import type { RunningTick } from '../journal/journal.ts';
import type { UnpackDependencies } from '../apply/obtainBundle.ts';
import type { SecretsDependencies } from '../apply/readSecrets.ts';
import type { ValidateDependencies } from '../apply/validate.ts';
import type { ImageDependencies } from '../apply/verifyImages.ts';
import type { RenderDependencies } from '../apply/renderRelease.ts';
import type { ImageKeepers } from '../release/garbage.ts';
import type { Releases } from '../release/releases.ts';
import type { Containers } from '../engine/containers.ts';
import type { Progress } from '../journal/terminal.ts';
import { membershipFault } from './swarmState.rules.ts';

/**
 * Dependencies of a swarm manager that changes a stack; it may have to render a release that another manager applied.
 */
export interface SwarmAgent
  extends
    ObserverDependencies,
    UnpackDependencies,
    SecretsDependencies,
    ValidateDependencies,
    ImageDependencies,
    RenderDependencies,
    ImageKeepers {
  readonly releases: Releases;
  readonly containers: Containers;
  readonly tick: RunningTick;
}

/** Maximum number of tasks whose logs are in a report. */
const maxLogs = 8;
/** Milliseconds between two queries; a swarm has no events for tasks. */
const pollMs = 250;

/**
 * Waits until the tasks of every service run as defined by this release, for `settle_s` without a change (spec §12).
 * Throws UNHEALTHY, which names the tasks and their nodes.
 */
export async function waitUntilHealthy(context: SwarmDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  const { settings, releases, tick } = context.deps;
  const release = { sha, services: expectedServices(await releases.readRecord(sha)) };
  const startedMs = monotonicMs();
  const waitS = stackWaitOf(release.services, settings);
  const deadlineMs = startedMs + waitS * 1000;
  const jobsUntilMs = startedMs + Math.max(waitS, settings.job_timeout_s) * 1000;
  let [stableSinceMs, seen] = [startedMs, ''];
  for (;;) {
    const services = stackServicesOf(await readStack(context), release);
    const nowMs = monotonicMs();
    tick.journal.progress = () => progressOf(services);
    if (tasksOf(services) !== seen) [stableSinceMs, seen] = [nowMs, tasksOf(services)];
    const isSettled = nowMs - stableSinceMs >= settings.settle_s * 1000;
    if (isSettled && services.every(({ status }) => status === 'healthy')) return;
    const isOver = nowMs >= (services.every(isWellOrRunningJob) ? jobsUntilMs : deadlineMs);
    if (isOver || services.some(({ status }) => status === 'failed'))
      throw await unhealthyFault(context, services, nowMs - startedMs);
    await pause(pollMs, undefined, { signal }).catch(() => throwIfStopped(signal));
  }
}

/** A swarm starts all services at once, so the longest requirement of a single service decides. */
function stackWaitOf(
  services: ReleaseRecord['services'],
  { health_timeout_s, health_timeout_max_s }: Pick<Settings, 'health_timeout_s' | 'health_timeout_max_s'>,
): number {
  const demandS = Math.max(0, ...services.map(({ demand_s = 0 }) => demand_s));
  return Math.min(health_timeout_max_s, Math.max(health_timeout_s, demandS));
}

function isWellOrRunningJob({ status, isRunningJob }: StackService): boolean {
  return status === 'healthy' || isRunningJob;
}

/** The existing tasks and their states: when these change, the stack has to settle again. */
function tasksOf(services: readonly StackService[]): string {
  return services.flatMap(({ tasks }) => tasks.map(({ id, state }) => `${id} ${state}`)).join();
}

function progressOf(services: readonly StackService[]): Progress {
  const tasks = services.flatMap((service) => service.tasks);
  const done = tasks.filter(({ isCurrent, state }) => isCurrent && state === 'running').length;
  return { done, total: tasks.length, unit: 'containers' };
}

/**
 * The fault UNHEALTHY: names each unhealthy service with its tasks; its tail has the last output of the tasks of this
 * release.
 */
async function unhealthyFault(
  { deps, swarm }: SwarmDependencies,
  services: readonly StackService[],
  waitedMs: number,
): Promise<Fault> {
  const unhealthy = services.filter(({ status }) => status !== 'healthy');
  const nodes = unhealthyNodes(services);
  deps.recordDecision({ word: 'unhealthy', services: unhealthy.map(({ name }) => name), nodes });
  const logOf = async ({ name, printedId }: StackTask) => {
    const excerpts = printedId === null ? [] : await swarm.logs(printedId).catch(unreadableLog);
    return { name, lines: redactExcerpts(deps, excerpts) };
  };
  const shown = unhealthy.flatMap(({ tasks }) => tasks).slice(0, maxLogs);
  const logs = await Promise.all(shown.map(logOf));
  const trouble = describeStack(services) || 'they did not settle';
  const errors = unhealthy.flatMap(({ tasks }) => tasks.map(({ error }) => error)).join('\n');
  const cause = causeSaid(errors) ?? causePrinted(logs.flatMap(({ lines }) => lines).join('\n'));
  const line = `failed: containers not healthy after ${Math.round(waitedMs / 1000)}s: ${trouble}`;
  const tail = logTailOf(logs, deps);
  return new Fault('failed', line, { code: 'UNHEALTHY', tail, moreLines: cause === null ? [] : [causeLine(cause)] });
}

/** Lists the tasks of the stack on all nodes and determines their health by the record that the managers share. */
export async function observe(context: SwarmObserver, applied: AppliedRelease | null): Promise<Observation> {
  const { deps, state } = context;
  const facts = await readStack(context);
  const containers = newestTasks(facts).map(reportedTaskOf);
  if (applied === null) return { containers, problems: [] };
  const services = stackServicesOf(facts, { sha: applied.sha, services: expectedServices(state.record) });
  tellMoves(deps, movedTasks(services, crashWindowOf(deps)));
  const crashed = crashedTasks(services, crashWindowOf(deps));
  for (const { name } of crashed) deps.tick.journal.warn(`${name} runs in place of a task that died`);
  const trouble = describeStack(services);
  if (trouble !== '') deps.tick.journal.warn(`not healthy: ${trouble}`);
  return { containers, problems: [...problemsOfStack(services), ...crashed.map(crashProblem)] };
}

/** A swarm starts tasks by itself: only tasks that it has given up count as failed. */
function problemsOfStack(services: readonly StackService[]): ServiceProblem[] {
  return services
    .filter(({ status }) => status !== 'healthy')
    .map(({ name, status, trouble }) => {
      return { service: name, detail: trouble, cure: 'start', containers: [], isFailure: status === 'failed' };
    });
}

function crashProblem({ service, name }: StackTask): ServiceProblem {
  return { service, detail: `${name} died`, cure: 'start', containers: [], isFailure: true };
}

function tellMoves({ tick }: { tick: RunningTick }, moved: readonly StackTask[]): void {
  for (const { name, movedFrom } of moved) {
    const line = `${name} is in place of a task on ${movedFrom}, which is down`;
    tick.journal.warn(line);
    tick.journal.remarks.push(line);
  }
}

/**
 * Observes the tasks of the stack on all nodes, by the record that the managers share. Every manager can do this, not
 * only the leader. Throws `RUNTIME_UNAVAILABLE` on a node that is not a manager, and while this host does not know the
 * release that the others have applied.
 */
export async function lookAtStack(
  deps: ObserverDependencies,
  { vault, signal }: { vault: Vault; signal: AbortSignal },
): Promise<Observation> {
  const { settings, project, state } = deps;
  const { swarm, facts } = openSwarm({ settings, project, vault, signal });
  const fault = membershipFault(await swarm.membership());
  if (fault !== null) throw fault;
  const { facts: shared, record } = (await facts.readState()).state;
  const sha = shared.applied_sha;
  if (sha !== state.state.applied_sha) throw failedFault('RUNTIME_UNAVAILABLE', changedMeanwhile(sha));
  return observe({ deps, swarm, state: { record } }, sha === null ? null : { sha, services: record?.services ?? [] });
}

function changedMeanwhile(sha: string | null): string {
  return `another manager of the swarm has applied ${sha ?? 'nothing'}; the next tick of this node follows`;
}

/** Dependencies of the services of a swarm. */
export interface SwarmDependencies extends SwarmAdapters {
  deps: SwarmAgent;
  state: SharedState;
  /** The digest of each image of the bundle that is being applied, by its reference. */
  digests: Map<string, string>;
  /** Names of the contents that the last deployed stack mounts. */
  mounted: Set<string>;
}

/** Dependencies of an observation of a swarm. */
export interface SwarmObserver {
  deps: ObserverDependencies;
  swarm: SwarmAdapters['swarm'];
  state: Pick<SharedState, 'record'>;
}

/** The current facts of the stack in the swarm. */
export async function readStack({ deps, swarm }: SwarmObserver): Promise<StackFacts> {
  const [services, tasks, nodes] = await Promise.all([swarm.services(), swarm.tasks(), swarm.nodes()]);
  return { project: deps.project, services, tasks, nodes };
}
