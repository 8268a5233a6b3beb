import { side } from '../../../../fixtures/bundles/diffSide.ts';
import { diffOf } from './bundleDiff.ts';

const web = (keys: string) => `services: {web: {${keys}}}`;
const linesOf = (before: string, after: string) =>
  diffOf(side(web(before)), side(web(after))).services.flatMap(({ keys }) =>
    keys.map(({ key, ...each }) => `${key}: ${each.before} → ${each.after}`),
  );

it.each(['environment', 'labels', 'annotations', 'sysctls'])('a list of %s is compared with a mapping', (key) => {
  expect(linesOf(`${key}: [A=1, B=2]`, `${key}: {B: 2, A: 3}`)).toEqual([`${key}.A: 1 → 3`]);
});

it.each([
  ['command: [a, b]', 'command: [b, a]', 'command: ["a","b"] → ["b","a"]'],
  ['entrypoint: [a, b]', 'entrypoint: [b, a]', 'entrypoint: ["a","b"] → ["b","a"]'],
  ['healthcheck: {test: [a, b]}', 'healthcheck: {test: [b, a]}', 'healthcheck.test: ["a","b"] → ["b","a"]'],
])('the order of %s counts', (before, after, line) => {
  expect(linesOf(before, after)).toEqual([line]);
});

it('parts of several files are merged by section and name', () => {
  const one = 'volumes: {a: {driver: x, labels: [c=d]}, b: {driver: y}}\nnetworks: {a: {driver: z}}';
  const several = [
    'volumes: {a: {driver: x}, b: {driver: y}}',
    'volumes: {a: {labels: [c=d]}}\nnetworks: {a: {driver: z}}',
  ];
  expect(diffOf(side(one), side(several)).resources).toEqual([]);
});

it('a bundle is named by its manifest, and its compose files and images by their keys', () => {
  const manifest = { compose: ['a.yaml', 'b.yaml'] };
  const found = diffOf(side(web('image: a'), { manifest }), side(web('image: b')));
  expect(found.before).toEqual({ sha: null, name: 'shop', env: 'eu-1', version: '1', sequence: 1 });
  expect(found.manifest).toEqual([{ key: 'compose', before: 'a.yaml, b.yaml', after: 'compose.yaml' }]);
  expect(found.images.map(({ key }) => key)).toEqual(['image', 'image']);
});

it('a power is told with its cure, without its line', () => {
  const volume = 'volumes: {a: {name: deployd-eu-1_a}}';
  const text = `${'\n'.repeat(11)}${web('image: a, security_opt: ["apparmor:1)"]')}\n${volume}`;
  expect(diffOf(side(web('image: a')), side(text)).powers).toEqual([
    {
      ...{ key: 'PRIVILEGED_REFUSED', before: null },
      after:
        'service web: security_opt apparmor:1) (compose.yaml): permit it by policy: {permit: {security_opt: ["apparmor:1)"]}} in config.yaml of the host',
    },
  ]);
});
