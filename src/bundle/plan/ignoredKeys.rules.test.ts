import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { ignoredKeys } from './ignoredKeys.rules.ts';

function linesOf(text: string, orchestrator: 'compose' | 'swarm' = 'compose') {
  const parsed = parseComposeFile('c.yaml', text);
  if ('problems' in parsed) throw new Error(text);
  return ignoredKeys([parsed.file], 'deployd-eu-1', orchestrator);
}

it.each([
  [
    'name: shop\nservices: {web: {develop: {watch: []}}, db: {image: a}}',
    ['name shop (c.yaml)', 'service web: develop: it is for compose watch (c.yaml)'],
  ],
  ['name: deployd-eu-1\nservices: {web: {image: a}}', []],
  ['services: {web: {deploy: {mode: replicated, labels: }}}', []],
  [
    'services: {web: {deploy: {mode: global, labels: {a: b}, update_config: {order: start-first}}}}',
    ['service web: deploy.labels, deploy.mode: only a swarm reads it (c.yaml)'],
  ],
  ['services: {web: {deploy: {update_config: {order: start-first, delay: 1s, failure_action: rollback}}}}', []],
  [
    'services: {web: {deploy: {update_config: {delay: 1s, parallelism: 2, failure_action: pause, max_failure_ratio: 0.5}}}}',
    [
      'service web: deploy.update_config.delay, deploy.update_config.parallelism: only order: start-first replaces containers in batches (c.yaml)',
      'service web: deploy.update_config.failure_action: the agent reverts a release that fails (c.yaml)',
      'service web: deploy.update_config.max_failure_ratio: one failed container fails the release (c.yaml)',
    ],
  ],
  [
    'version: "3.8"\nconfigs: {a: {content: a, name: b}}\nservices: {}',
    ['configs.*.name: only a swarm reads it (c.yaml)', 'version: it is obsolete (c.yaml)'],
  ],
  [
    'configs: {f: {file: ./f}, c: {content: a}}\nservices: {web: {configs: [{source: f, uid: "0", gid: "0", mode: 0644}, {source: c, uid: "0"}]}}',
    ['service web: configs.uid, configs.gid: a file of the bundle has the owner that it has on the host (c.yaml)'],
  ],
  ['configs: {f: {file: ./f}}\nservices: {web: {configs: [{source: f, uid: "0", mode: 0400}]}}', []],
])('names what has no effect: %s', (text, lines) => {
  expect(linesOf(text)).toEqual(lines);
});

it('names for a swarm only what no orchestrator reads', () => {
  const text = 'services: {web: {develop: {watch: []}, deploy: {labels: {a: b}, placement: {constraints: [a]}}}}';
  expect(linesOf(text, 'swarm')).toEqual(['service web: develop: it is for compose watch (c.yaml)']);
});
