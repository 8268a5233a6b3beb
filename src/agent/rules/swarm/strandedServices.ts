import type { Sha } from '../../../../machines/types.ts';
import { statusOf, type StackService } from './stackHealth.ts';
import { newestTasks, serviceNameOf, type StackFacts, type StackTask, type SwarmService } from './stackTask.ts';

/**
 * The services that the swarm leaves without a task: what it takes for a job ends with its node, or when a manager becomes a
 * worker, and a deploy of the same changes nothing.
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
 * The services with a task that has no node and is older than their last update: the swarm's scheduler may have dropped it, and
 * then looks for no node for it any more, whatever nodes come.
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
 * True when the release is what is deployed, and lacks nothing but nodes for some of its tasks. Another deploy of it would have
 * the scheduler drop these.
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
