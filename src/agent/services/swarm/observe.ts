import type { ServiceProblem } from '../../../../machines/types.ts';
import { expectedServices } from '../../rules/release/releaseRecord.ts';
import {
  crashedTasks,
  describeStack,
  movedTasks,
  reportedTaskOf,
  stackServicesOf,
  type StackService,
} from '../../rules/swarm/stackHealth.ts';
import { newestTasks, type StackTask } from '../../rules/swarm/stackTask.ts';
import type { ObserverDependencies } from '../dependencies.ts';
import { crashWindowOf } from '../health/crashWindow.ts';
import type { AppliedRelease, Observation } from '../orchestrator.ts';
import { readStack, type SwarmObserver } from './stackFacts.ts';

/** Lists the tasks of the stack on all nodes and judges them by the record that the managers share. */
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

/** A swarm starts tasks by itself: only what it has given up counts as failed. */
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

function tellMoves({ tick }: Pick<ObserverDependencies, 'tick'>, moved: readonly StackTask[]): void {
  for (const { name, movedFrom } of moved) {
    const line = `${name} is in place of a task on ${movedFrom}, which is down`;
    tick.journal.warn(line);
    tick.remarks.push(line);
  }
}
