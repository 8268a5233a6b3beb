import { leaderInstead, membershipFault } from '../../rules/swarm/leadership.ts';
import { crashedTasks, describeStack, reportedTaskOf, stackServicesOf } from '../../rules/swarm/stackHealth.ts';
import { newestTasks } from '../../rules/swarm/stackTask.ts';
import { crashWindowOf } from '../health/crashWindow.ts';
import type { AppliedRelease, Observation } from '../orchestrator.ts';
import { readStack, type SwarmDependencies } from './stackFacts.ts';

/** Finds out who leads, lists the tasks of the stack on all nodes and judges them. */
export async function observe(context: SwarmDependencies, applied: AppliedRelease | null): Promise<Observation> {
  const { deps, swarm } = context;
  const membership = await swarm.membership();
  const fault = membershipFault(membership);
  if (fault !== null) throw fault;
  const facts = await readStack(context);
  const leader = leaderInstead(membership, facts.nodes);
  const containers = newestTasks(facts).map(reportedTaskOf);
  if (applied === null) return { leader, containers, unhealthyServices: [] };
  const services = stackServicesOf(facts, applied);
  const crashed = crashedTasks(services, crashWindowOf(deps));
  for (const { name } of crashed) deps.tick.journal.warn(`${name} runs in place of a task that died`);
  const trouble = describeStack(services);
  if (trouble !== '') deps.tick.journal.warn(`not healthy: ${trouble}`);
  const unhealthy = services.filter(({ status }) => status !== 'healthy').map(({ name }) => name);
  const names = [...unhealthy, ...crashed.map(({ service }) => service)];
  return { leader, containers, unhealthyServices: [...new Set(names)].sort() };
}
