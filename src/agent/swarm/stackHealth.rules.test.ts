import {
  factsOf,
  nodes,
  oldSpec,
  type ServiceParts,
  sha,
  spec,
  type TaskParts,
} from '../../../fixtures/suites/swarm/stackFacts.ts';
import {
  crashedTasks,
  describeStack,
  movedTasks,
  reportedTaskOf,
  stackServicesOf,
  unhealthyNodes,
} from './stackHealth.rules.ts';
import type { TaskSpec } from './stackTask.rules.ts';

const checked: TaskSpec = { ContainerSpec: { Image: 'web:2', Healthcheck: { Test: ['CMD', 'true'] } } };

function judge(service: ServiceParts, ...tasks: TaskParts[]) {
  return stackServicesOf(factsOf(service, tasks), { sha, services: [{ name: 'web', replicas: 1 }] });
}

const once: TaskSpec = { ...spec, RestartPolicy: { Condition: 'none' } };
const onFailure: TaskSpec = { ...spec, RestartPolicy: { Condition: 'on-failure' } };

it.each<[string, string, string, ServiceParts, TaskParts[]]>([
  ['a task that runs', 'healthy', '', {}, [{ state: 'running' }]],
  [
    'a task that runs, and a newer one that the swarm has ended',
    'healthy',
    '',
    {},
    [{ state: 'running' }, { state: 'shutdown', minute: 1, DesiredState: 'shutdown' }],
  ],
  [
    'a task that runs as the service says',
    'healthy',
    '',
    { template: { ...spec, Runtime: 'container' } },
    [{ state: 'running' }],
  ],
  ['a task that runs after one that ended', 'healthy', '', {}, [{ state: 'failed' }, { state: 'running', minute: 1 }]],
  ['a job that has finished', 'healthy', '', { template: once }, [{ state: 'complete', Spec: once, exit: 0 }]],
  ['no task where none is to run', 'healthy', '', { desired: 0 }, []],
  ['a task that starts', 'pending', 'web.1@one starting', {}, [{ state: 'starting' }]],
  [
    'a task without a node',
    'pending',
    'web.1 pending (no suitable node)',
    {},
    [{ state: 'pending', NodeID: '', err: 'no suitable node' }],
  ],
  ['a task of before', 'pending', 'web.1@one runs as before', {}, [{ state: 'running', Spec: oldSpec }]],
  [
    'a task that the swarm ends, without another',
    'pending',
    'web.1@one is to end',
    {},
    [{ state: 'running', DesiredState: 'shutdown' }],
  ],
  [
    'a service of every node, one of which is drained',
    'healthy',
    '',
    { mode: { Global: {} } },
    [
      { state: 'running', Slot: 0 },
      { state: 'shutdown', Slot: 0, NodeID: 'n2', DesiredState: 'shutdown' },
    ],
  ],
  ['a task too few', 'pending', '1 of 2 tasks', { desired: 2 }, [{ state: 'running' }]],
  ['an update at work', 'pending', 'updating', { update: 'updating' }, [{ state: 'running' }]],
  ['a service of another release', 'pending', 'of another release', { labels: {} }, [{ state: 'running' }]],
  ['an end where the swarm starts anew', 'pending', 'web.1@one failed (exit 3)', {}, [{ state: 'failed', exit: 3 }]],
  ['an end with 0 of what must run', 'pending', 'web.1@one complete (exit 0)', {}, [{ state: 'complete', exit: 0 }]],
  [
    'a job that is tried again',
    'pending',
    'web.1@one failed (exit 1)',
    { template: onFailure },
    [{ state: 'failed', Spec: onFailure, exit: 1 }],
  ],
  [
    'a job that failed for good',
    'failed',
    'web.1@one failed (exit 1)',
    { template: once },
    [{ state: 'failed', Spec: once, exit: 1 }],
  ],
  [
    'a task that its node cannot start',
    'failed',
    'web.1@one rejected (No such image: web:2)',
    {},
    [{ state: 'rejected', err: 'No such image: web:2' }],
  ],
  ['a paused update', 'failed', 'update paused: because', { update: 'paused' }, [{ state: 'running' }]],
  ['a rolled back update', 'failed', 'update rollback_completed: because', { update: 'rollback_completed' }, []],
])('takes %s for %s: %s', (_, status, trouble, service, tasks) => {
  expect(judge(service, ...tasks)).toMatchObject([{ name: 'web', status, trouble }]);
});

it('names a service of the release that the stack lacks', () => {
  const facts = { project: 'deployd-eu-1', services: [], tasks: [], nodes };
  expect(describeStack(stackServicesOf(facts, { sha, services: [{ name: 'db', replicas: 1 }] }))).toBe('db: missing');
});

it('names each task of a service that runs on every node by its node', () => {
  const [service] = judge({}, { state: 'running', Slot: 0 });
  expect(service!.tasks.map(({ name }) => name)).toEqual(['web@one']);
});

it('names the nodes whose tasks are not healthy', () => {
  const [n1, n2] = ['n1', 'n2'].map((NodeID) => ({ NodeID, Slot: 0 }));
  const tasks = [
    { state: 'running', ...n1 },
    { state: 'rejected', ...n2 },
    { state: 'pending', NodeID: '', Slot: 3 },
  ];
  const facts = { ...factsOf({}, tasks), nodes: [...nodes, { ID: 'n2', Description: { Hostname: 'two' } }] };
  expect(unhealthyNodes(stackServicesOf(facts, { sha, services: [] }))).toEqual(['two']);
});

it.each([
  [spec, 'running', null],
  [checked, 'running', 'healthy'],
  [checked, 'starting', 'starting'],
  [checked, 'pending', null],
])('reports the health of a task where it is known: %j %s', (template, state, health) => {
  const [service] = judge({ template }, { state, Spec: template });
  const reported = { service: 'web', name: 'web.1@one', state, health, exit_code: null };
  expect(service!.tasks.map(reportedTaskOf)).toEqual([reported]);
});

describe('a task that replaces an ended one', () => {
  const endedMs = Date.parse('2026-01-01T00:01:00.123Z');
  const window = { nowMs: endedMs + 30_000, observedMs: endedMs - 1, settleMs: 10_000, intervalMs: 60_000 };
  const tasks: TaskParts[] = [
    { state: 'failed', minute: 1 },
    { state: 'running', minute: 2 },
  ];

  it.each<[string, number, typeof window, ServiceParts, TaskParts[]]>([
    ['counts when that was since the last tick', 1, window, {}, tasks],
    ['does not count when the last tick knew it', 0, { ...window, observedMs: endedMs + 1 }, {}, tasks],
    ['counts while it has not settled', 1, { ...window, observedMs: endedMs + 1, settleMs: 40_000 }, {}, tasks],
    ['does not count where another release ended', 0, window, {}, [{ ...tasks[0]!, Spec: oldSpec }, tasks[1]!]],
    ['does not count where the swarm ended it', 0, window, {}, [{ ...tasks[0]!, state: 'shutdown' }, tasks[1]!]],
    [
      'does not count where a healthcheck decides',
      0,
      window,
      { template: checked },
      tasks.map((task) => ({ ...task, Spec: checked })),
    ],
  ])('%s', (_, count, when, service, ended) => {
    expect(crashedTasks(judge(service, ...ended), when)).toHaveLength(count);
  });
});

it.each<[string, number, string, TaskParts, number]>([
  ['was made since the last tick', 1, 'down', { state: 'running', NodeID: 'n2' }, 0],
  ['was known to the last tick', 0, 'down', { state: 'running', NodeID: 'n2' }, 90_000],
  ['is where another node answers again', 0, 'ready', { state: 'running', NodeID: 'n2' }, 0],
  ['is of another making', 0, 'down', { state: 'running', NodeID: 'n2', Spec: oldSpec }, 0],
])('reports a task that replaces one on a lost node which %s: %d', (_, count, State, before, sinceMs) => {
  const task: TaskParts = { state: 'running', minute: 1 };
  const lost = { ID: 'n2', Description: { Hostname: 'two' }, Status: { State } };
  const facts = factsOf({}, [{ ...before, DesiredState: 'shutdown' }, task]);
  const services = stackServicesOf({ ...facts, nodes: [...nodes, lost] }, { sha, services: [] });
  const observedMs = Date.parse('2026-01-01T00:00:30Z') + sinceMs;
  expect(movedTasks(services, { observedMs }).map(({ movedFrom }) => movedFrom)).toEqual(Array(count).fill('two'));
});
