import { side } from '../../../../fixtures/bundles/diffSide.ts';
import { diffOf } from './bundleDiff.ts';
import { formatDiff } from './formatDiff.ts';
import { withoutConfidential } from './withoutConfidential.ts';

const canary = 'hunter2';
const differing = (before: string, after: string) => withoutConfidential(diffOf(side(before), side(after)));
const service = (keys: string) => `services: {web: {image: app, ${keys}}}`;

it.each([
  ['environment', (value: string) => service(`environment: {PASSWORD: ${value}}`)],
  ['environment as a list', (value: string) => service(`environment: ["PASSWORD=${value}"]`)],
  ['command', (value: string) => service(`command: ["run", "--password=${value}"]`)],
  ['entrypoint', (value: string) => service(`entrypoint: run ${value}`)],
  ['test of health', (value: string) => service(`healthcheck: {test: curl -u a:${value} localhost}`)],
  ['labels', (value: string) => service(`labels: {auth: ${value}}`)],
  ['labels of deploy', (value: string) => service(`deploy: {labels: {auth: ${value}}}`)],
  ['annotations', (value: string) => service(`annotations: {auth: ${value}}`)],
  ['options of a log', (value: string) => service(`logging: {driver: splunk, options: {splunk-token: ${value}}}`)],
  ['hook', (value: string) => service(`post_start: [{command: login ${value}}]`)],
  ['extension', (value: string) => service(`x-auth: {password: ${value}}`)],
  ['options of a device', (value: string) => service(`gpus: [{driver: nvidia, options: {key: ${value}}}]`)],
  ['labels of a mount', (value: string) => service(`volumes: [{target: /a, volume: {labels: {auth: ${value}}}}]`)],
  ['extension of a port', (value: string) => service(`ports: [{target: 80, x-auth: ${value}}]`)],
  ['file in the compose file', (value: string) => `configs: {c: {content: ${value}}}`],
  ['options of a volume', (value: string) => `volumes: {v: {driver_opts: {type: cifs, o: "password=${value}"}}}`],
])('tells that its %s differs, is new or is gone, and not the value', (_, compose) => {
  const [one, other, none] = [compose(canary), compose(`${canary}3`), 'services: {web: {image: app}}'];
  for (const [before, after] of [
    [one, other],
    [none, one],
    [one, none],
  ] as const) {
    // The sample has texts where bundles have the digests of files.
    const told = JSON.stringify({ ...differing(before, after), files: [] });
    expect(told).toContain('(not shown)');
    expect(told).not.toContain(canary);
  }
});

it('tells all else, and a hidden value once', () => {
  const compose = (version: string) =>
    service(
      `environment: {LEVEL: "${version}"}, ports: ["80${version}:80"], restart: always, cap_add: [CAP${version}]`,
    );
  const diff = differing(compose('1'), compose('2'));
  expect(diff.services).toEqual([
    {
      name: 'web',
      change: 'changed',
      keys: [
        { key: 'environment.LEVEL', before: '(not shown)', after: '(not shown)' },
        { key: 'ports', before: '801:80', after: null },
        { key: 'ports', before: null, after: '802:80' },
        { key: 'cap_add', before: 'CAP1', after: null },
        { key: 'cap_add', before: null, after: 'CAP2' },
      ],
    },
  ]);
  expect(diff.powers.map(({ before, after }) => before ?? after)).toEqual([
    expect.stringContaining('cap_add CAP1 (compose.yaml): permit it by policy'),
    expect.stringContaining('cap_add CAP2 (compose.yaml): permit it by policy'),
  ]);
  expect(formatDiff(diff)).toMatch(/~ environment.LEVEL: \(not shown\)$/m);
});
