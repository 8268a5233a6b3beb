import { resultOf } from '../../../../fixtures/import/importing.ts';

const top = 'configs: {c: {file: f}, v: {content: a}}\nsecrets: {s: {environment: A}}\n';
const of = (service: string) => {
  const { a, changes } = resultOf({ 'compose.yaml': `services: {a: {image: x, ${service}}}\n${top}`, f: 'a' });
  return { a, changes: changes.filter((each) => each.startsWith('service a: ')) };
};

it.each([
  ['cpu_count: 2, cpu_percent: 50', {}, 2],
  [
    'deploy: {restart_policy: {condition: any, max_attempts: 3}}',
    { deploy: { restart_policy: { condition: 'any' } } },
    1,
  ],
  ['deploy: {replicas: 2, placement: {max_replicas_per_node: 1}}', { deploy: { replicas: 2, placement: {} } }, 1],
  ['configs: [{source: c, uid: "33", gid: "33"}]', { configs: [{ source: 'c' }] }, 2],
  ['configs: [{source: c, uid: "33", mode: 0o444}]', { configs: [{ source: 'c', mode: 0o444 }] }, 1],
])('leaves out what has no effect: %s', (service, expected, count) => {
  const { a, changes } = of(service);
  expect(a).toMatchObject(expected);
  expect(a).not.toMatchObject({ configs: [{ uid: '33' }] });
  expect(changes).toHaveLength(count);
});

it.each([
  'deploy: {restart_policy: {condition: on-failure, max_attempts: 3}}',
  'deploy: {replicas: 2, placement: {max_replicas_per_node: 2}}',
  'configs: [{source: c, uid: "33", mode: 0o400}]',
  'configs: [{source: v, uid: "33"}]',
  'secrets: [{source: s, uid: "33"}]',
])('keeps what has one, or restricts: %s', (service) => {
  expect(of(service).changes).toEqual([]);
});
