import { endsOfJob, imageRemoval } from './nodeWork.ts';
import type { SwarmTask } from './stackTask.rules.ts';

const digest = `sha256:${'a'.repeat(64)}`;

function taskOn(NodeID: string, State: string, Err = ''): SwarmTask {
  const Status = { Timestamp: '2026-01-01T00:00:00Z', State, Err };
  return { ID: `of-${NodeID}`, CreatedAt: '', ServiceID: 's', NodeID, DesiredState: 'complete', Spec: {}, Status };
}

it.each<[string, string, string, SwarmTask[], boolean, string]>([
  ['has done it', 'ready', 'active', [taskOn('n1', 'complete')], true, ''],
  ['is at work', 'ready', 'active', [taskOn('n1', 'running')], false, 'running'],
  ['has no task yet', 'ready', 'active', [taskOn('n2', 'complete')], false, 'new'],
  ['has failed', 'ready', 'active', [taskOn('n1', 'failed', 'exit 1')], true, 'failed: exit 1'],
  ['cannot start it', 'ready', 'active', [taskOn('n1', 'rejected', 'No such image')], true, 'rejected: No such image'],
  ['is lost', 'down', 'active', [taskOn('n1', 'running')], true, 'the node is down'],
  ['is drained', 'ready', 'drain', [], true, 'the node takes no tasks (drain)'],
])('reports a node that %s', (_, State, Availability, tasks, isOver, trouble) => {
  const node = { ID: 'n1', Description: { Hostname: 'one' }, Status: { State }, Spec: { Availability } };
  expect(endsOfJob(tasks, [node])).toMatchObject([{ node: 'one', isOver, trouble }]);
});

it.each([
  ['nginx:1', 'nginx'],
  ['docker.io/library/nginx:1', 'nginx'],
  ['shop/web', 'shop/web'],
  [`registry.example:5000/shop/web:1@${digest}`, 'registry.example:5000/shop/web'],
])('looks for the images of %s under the repository name that the docker program uses', (reference, repository) => {
  expect(imageRemoval([{ reference, id: digest }]).args).toEqual([digest, repository]);
});
