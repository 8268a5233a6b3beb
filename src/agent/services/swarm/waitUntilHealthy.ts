import { setTimeout as pause } from 'node:timers/promises';
import { Fault, throwIfStopped } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/types.ts';
import { monotonicMs } from '../../../core/clock.ts';
import type { Settings } from '../../config/settings.ts';
import { expectedServices, type ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { describeStack, type StackService, stackServicesOf, unhealthyNodes } from '../../rules/swarm/stackHealth.ts';
import type { StackTask } from '../../rules/swarm/stackTask.ts';
import { causeLine, causePrinted, causeSaid } from '../../../core/failureCauses.rules.ts';
import type { Progress } from '../../rules/status/progress.ts';
import { logTailOf, redactExcerpts, unreadableLog } from '../health/logTail.ts';
import { readStack, type SwarmDependencies } from './stackFacts.ts';

/** Tasks whose logs a report has. */
const maxLogs = 8;
/** Milliseconds between two questions; a swarm offers no events of tasks. */
const pollMs = 250;

/**
 * Waits until the tasks of every service run, as this release wants them, for `settle_s` without a change (spec §12).
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
    tick.readProgress = () => progressOf(services);
    if (tasksOf(services) !== seen) [stableSinceMs, seen] = [nowMs, tasksOf(services)];
    const isSettled = nowMs - stableSinceMs >= settings.settle_s * 1000;
    if (isSettled && services.every(({ status }) => status === 'healthy')) return;
    const isOver = nowMs >= (services.every(isWellOrRunningJob) ? jobsUntilMs : deadlineMs);
    if (isOver || services.some(({ status }) => status === 'failed'))
      throw await unhealthyFault(context, services, nowMs - startedMs);
    await pause(pollMs, undefined, { signal }).catch(() => throwIfStopped(signal));
  }
}

/** A swarm starts all services at once, so that what only one of them demands decides. */
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

/** Which tasks are there: another one, or another state of one, and the stack has to settle anew. */
function tasksOf(services: readonly StackService[]): string {
  return services.flatMap(({ tasks }) => tasks.map(({ id, state }) => `${id} ${state}`)).join();
}

function progressOf(services: readonly StackService[]): Progress {
  const tasks = services.flatMap((service) => service.tasks);
  const done = tasks.filter(({ isCurrent, state }) => isCurrent && state === 'running').length;
  return { done, total: tasks.length, unit: 'containers' };
}

/** The fault UNHEALTHY: names each unhealthy service with its tasks; its tail has what those of this release printed last. */
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
