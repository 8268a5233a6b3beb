import {
  factsOf,
  oldSpec,
  sha,
  spec,
  type ServiceParts,
  type TaskParts,
} from '../../../../fixtures/swarm/stackFacts.ts';
import { stackServicesOf } from './stackHealth.ts';
import type { TaskSpec } from './stackTask.ts';
import { servicesWithDroppedTask, servicesWithoutTask, waitsForNodes } from './strandedServices.ts';

const once: TaskSpec = { ...spec, RestartPolicy: { Condition: 'none' } };
const ended = { Spec: once, DesiredState: 'shutdown' };

it.each<[string, number, TaskParts[]]>([
  ['whose task ended with its node', 1, [{ ...ended, state: 'shutdown' }]],
  ['whose task failed', 1, [{ ...ended, state: 'failed', exit: 1 }]],
  ['whose task has finished', 0, [{ ...ended, state: 'complete', exit: 0 }]],
  ['whose task is to be replaced', 0, [{ ...ended, state: 'shutdown', Spec: oldSpec }]],
  [
    'of which the swarm starts another task',
    0,
    [
      { ...ended, state: 'failed' },
      { state: 'preparing', Spec: once },
    ],
  ],
  ['of which the swarm has made no task yet', 0, []],
])('counts a service %s as left without a task: %d', (_, count, tasks) => {
  const facts = factsOf({ template: once }, tasks);
  const judged = stackServicesOf(facts, { sha, services: [{ name: 'web', replicas: 1 }] });
  expect(servicesWithoutTask(facts, judged)).toHaveLength(count);
});

const waiting: TaskParts = { state: 'pending', NodeID: '' };

it.each<[string, number, TaskParts[], number]>([
  ['that has no node', 1, [waiting], 1],
  ['that has no node, and was made after the deploy', 0, [{ ...waiting, minute: 2 }], 1],
  ['that has found a node', 0, [{ ...waiting, NodeID: 'n1' }], 1],
  ['that the deploy replaces', 0, [{ ...waiting, Spec: oldSpec }], 1],
  ['that is to end', 0, [{ ...waiting, DesiredState: 'shutdown' }], 1],
  ['that runs on a node that was removed', 0, [{ state: 'running', NodeID: 'unknown' }], 1],
])('counts the services that a deploy leaves with a task %s: %d', (_, count, tasks, updatedMinute) => {
  expect(servicesWithDroppedTask(factsOf({ updatedMinute }, tasks))).toHaveLength(count);
});

const running: TaskParts = { state: 'running', Slot: 2 };

it.each<[string, boolean, ServiceParts, TaskParts[]]>([
  ['a task without a node beside one that runs', true, {}, [waiting, running]],
  ['nothing', false, {}, [running]],
  ['a task that failed, beside one without a node', false, {}, [waiting, { ...running, state: 'failed' }]],
  ['a task of the service as it was before', false, {}, [waiting, { ...running, Spec: oldSpec }]],
  ['nodes, with a paused update', false, { update: 'paused' }, [waiting]],
  ['nodes, but of another release', false, { labels: {} }, [waiting]],
])('takes a stack that lacks %s for one that waits for nodes: %j', (_, waits, service, tasks) => {
  const facts = factsOf({ desired: tasks.length, ...service }, tasks);
  const judged = stackServicesOf(facts, { sha, services: [{ name: 'web', replicas: 1 }] });
  expect(waitsForNodes(facts, judged, sha)).toBe(waits);
});
