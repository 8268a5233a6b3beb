import { expectedServices } from '../../rules/release/releaseRecord.ts';
import {
  crashedTasks,
  describeStack,
  movedTasks,
  reportedTaskOf,
  stackServicesOf,
} from '../../rules/swarm/stackHealth.ts';
import { newestTasks, type StackTask } from '../../rules/swarm/stackTask.ts';
import type { Dependencies } from '../dependencies.ts';
import { crashWindowOf } from '../health/crashWindow.ts';
import type { AppliedRelease, Observation } from '../orchestrator.ts';
import { readStack, type SwarmDependencies } from './stackFacts.ts';

/** Lists the tasks of the stack on all nodes and judges them by the record that the managers share. */
export async function observe(context: SwarmDependencies, applied: AppliedRelease | null): Promise<Observation> {
  const { deps, state } = context;
  const facts = await readStack(context);
  const containers = newestTasks(facts).map(reportedTaskOf);
  if (applied === null) return { containers, unhealthyServices: [] };
  const services = stackServicesOf(facts, { sha: applied.sha, services: expectedServices(state.record) });
  tellMoves(deps, movedTasks(services, crashWindowOf(deps)));
  const crashed = crashedTasks(services, crashWindowOf(deps));
  for (const { name } of crashed) deps.tick.journal.warn(`${name} runs in place of a task that died`);
  const trouble = describeStack(services);
  if (trouble !== '') deps.tick.journal.warn(`not healthy: ${trouble}`);
  const unhealthy = services.filter(({ status }) => status !== 'healthy').map(({ name }) => name);
  const names = [...unhealthy, ...crashed.map(({ service }) => service)];
  return { containers, unhealthyServices: [...new Set(names)].sort() };
}

function tellMoves({ tick }: Dependencies, moved: readonly StackTask[]): void {
  for (const { name, movedFrom } of moved) {
    const line = `${name} is in place of a task on ${movedFrom}, which is down`;
    tick.journal.warn(line);
    tick.remarks.push(line);
  }
}
