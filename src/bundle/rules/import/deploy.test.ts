import { importedBundle } from '../../../../fixtures/import/importing.ts';

it.each([
  'deploy: {mode: global, placement: {constraints: [node.role == worker]}}',
  'deploy: {replicas: 3, update_config: {parallelism: 1, order: start-first}, rollback_config: {order: stop-first}}',
  'deploy: {resources: {limits: {cpus: "0.5", memory: 64m}}, restart_policy: {condition: any}}',
  'ports: [{target: 80, published: "80", mode: host}]',
])('what a swarm does with a service is carried over as it is: %s', (line) => {
  const { composeFiles, report } = importedBundle({ 'compose.yaml': `services: {a: {image: x, ${line}}}\n` });
  expect(composeFiles.get('compose.yaml')).toContain(line);
  expect([...report.changes, ...report.undecided]).toEqual([]);
});
