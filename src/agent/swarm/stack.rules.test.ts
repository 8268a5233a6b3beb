import type { ModelObject } from '../release/model.rules.ts';
import { stackOf, type StackSources } from './stack.rules.ts';

const text = (data: Uint8Array) => new TextDecoder().decode(data);
const file = (content: string, isExecutable = false) => ({ data: new TextEncoder().encode(content), isExecutable });
const sources: StackSources = {
  dir: '/srv/a',
  files: new Map([
    ['conf', file('text')],
    ['run.sh', file('script', true)],
  ]),
  values: new Map([['DB', 'va$ue']]),
  nameOf: {
    config: (identity, data) => `file[${identity}|${text(data)}]`,
    secret: (identity, data) => `secret[${identity}|${text(data)}]`,
  },
  pinnedImages: new Map([['app:1', 'app:1@sha256:0']]),
  sha: 'abc',
};

/** The stack's service that a service of the model becomes. */
function converted(service: ModelObject, root: ModelObject = {}) {
  const { file: stack, contents } = stackOf(
    { name: 'shop', ...root, services: { web: { image: 'app:1', ...service } } },
    sources,
  );
  return { service: (stack['services'] as Record<string, ModelObject>)['web']!, stack, contents };
}

it.each<[string, ModelObject, ModelObject]>([
  ['an image becomes the pinned one', { image: 'app:1' }, { image: 'app:1@sha256:0' }],
  ['an image that is not pinned stays', { image: 'other' }, { image: 'other' }],
  ['conditions become names', { depends_on: { db: { condition: 'service_started' } } }, { depends_on: ['db'] }],
  [
    'a published port becomes a number',
    { ports: [{ target: 80, published: '8080', mode: 'host' }, { target: 81 }] },
    { ports: [{ target: 80, published: 8080, mode: 'host' }, { target: 81 }] },
  ],
  [
    'a host gets a colon, also before an IPv6 address',
    { extra_hosts: ['a=1.2.3.4', 'b=::1'] },
    { extra_hosts: ['a:1.2.3.4', 'b:::1'] },
  ],
  ['tmpfs becomes a mount', { tmpfs: ['/run'] }, { volumes: [{ type: 'tmpfs', target: '/run' }] }],
  [
    'the size of a tmpfs becomes a number',
    { volumes: [{ type: 'tmpfs', target: '/t', tmpfs: { size: '1048576' } }] },
    { volumes: [{ type: 'tmpfs', target: '/t', tmpfs: { size: 1048576 } }] },
  ],
  [
    'a path of the host stays, without what compose adds',
    {
      volumes: [
        { type: 'bind', source: '/srv/data', target: '/d', bind: { create_host_path: true, propagation: 'private' } },
      ],
    },
    { volumes: [{ type: 'bind', source: '/srv/data', target: '/d', bind: { propagation: 'private' } }] },
  ],
  [
    'templates of a swarm are only text',
    {
      environment: { A: '{{.Node.ID}}', B: null },
      hostname: '{{x}}',
      volumes: [{ type: 'bind', source: '/{{a}}', target: '/{{b}}' }],
    },
    {
      environment: { A: '{{"{{"}}.Node.ID}}', B: null },
      hostname: '{{"{{"}}x}}',
      volumes: [{ type: 'bind', source: '/{{"{{"}}a}}', target: '/{{"{{"}}b}}' }],
    },
  ],
  ['dollar signs stay doubled in texts, not in keys', { labels: { a$$b: 'c$$d' } }, { labels: { a$b: 'c$$d' } }],
  [
    'labels tell each node whose container it is; that of one host is gone',
    { labels: { a: 'b', 'deployd.content': '1' } },
    { labels: { a: 'b', 'com.docker.compose.project': 'shop', 'com.docker.compose.service': 'web' } },
  ],
  [
    'a label tells where tasks may be placed, so that another placement is another task',
    { deploy: { placement: { constraints: ['node.role == worker'] } } },
    { labels: { 'deployd.placement': '{"constraints":["node.role == worker"]}' } },
  ],
  ['a key that nobody knows stays, to be refused', { novelty: 1 }, { novelty: 1 }],
])('%s', (_title, service, expected) => {
  expect(converted(service).service).toMatchObject(expected);
});

it.each([
  [{ restart: 'always' }, { condition: 'any' }],
  [{ restart: 'unless-stopped' }, { condition: 'any' }],
  [{ restart: 'on-failure' }, { condition: 'on-failure' }],
  [{ restart: 'on-failure:3' }, { condition: 'on-failure', max_attempts: 3 }],
  [{ restart: 'no', healthcheck: { test: 'a' } }, { condition: 'none' }],
  [{}, { condition: 'none' }],
  [{ healthcheck: { test: 'a' } }, { condition: 'any' }],
  [{ healthcheck: { disable: true } }, { condition: 'none' }],
  [
    { restart: 'always', deploy: { restart_policy: { condition: 'none', delay: '5s' } } },
    { condition: 'none', delay: '5s' },
  ],
])('%j is restarted as %j', (service, policy) => {
  const { deploy, restart } = converted(service).service;
  expect(deploy).toMatchObject({ restart_policy: policy });
  expect(restart).toBeUndefined();
});

it('labels no service that may be placed anywhere', () => {
  expect(converted({ deploy: { placement: {} } }).service['labels']).not.toHaveProperty(['deployd.placement']);
});

it('labels every service with the bundle, and keeps what `deploy` says', () => {
  const deploy = { mode: 'global', labels: { a: 'b' }, resources: { limits: { cpus: 0.5, memory: '1' } } };
  expect(converted({ deploy }).service['deploy']).toMatchObject({
    mode: 'global',
    labels: { a: 'b', 'deployd.sha': 'abc' },
    resources: { limits: { cpus: '0.5', memory: '1' } },
  });
  expect(converted({ scale: 3 }).service['deploy']).toMatchObject({ replicas: 3 });
});

it.each(['attach', 'develop', 'expose', 'profiles', 'restart', 'scale', 'tmpfs'])('drops %s', (key) => {
  expect(converted({ [key]: ['x'], command: null }).service).not.toHaveProperty([key]);
  expect(converted({ [key]: ['x'], command: null }).service).not.toHaveProperty(['command']);
});

it('keeps networks and volumes, labelled as its own, and nothing else of the file', () => {
  const root = {
    name: 'deployd-eu-1',
    networks: { n: { name: 'x' } },
    volumes: { d: {}, e: { external: true } },
    'x-a': 1,
  };
  expect(converted({}, root).stack).toEqual({
    services: expect.anything() as object,
    version: '3.9',
    networks: { n: { name: 'x' } },
    volumes: { d: { labels: { 'com.docker.compose.project': 'deployd-eu-1' } }, e: { external: true } },
    configs: {},
    secrets: {},
  });
});

const root = {
  configs: { f: { file: '/srv/a/conf' }, t: { content: 'cost $$1' }, e: { environment: 'DB' } },
  secrets: { s: { environment: 'DB' }, f: { file: '/srv/a/conf' } },
};

it.each<[string, ModelObject, { name: string; kind: string; target: string; mode: number }]>([
  [
    'a file of the bundle',
    { volumes: [{ type: 'bind', source: '/srv/a/conf', target: '/c' }] },
    { kind: 'config', name: 'file[0:0 444|text]', target: '/c', mode: 0o444 },
  ],
  [
    'a program of the bundle',
    { volumes: [{ type: 'bind', source: '/srv/a/run.sh', target: '/r' }] },
    { kind: 'config', name: 'file[0:0 555|script]', target: '/r', mode: 0o555 },
  ],
  [
    'a config from a file',
    { configs: ['f'] },
    { kind: 'config', name: 'file[0:0 444|text]', target: '/f', mode: 0o444 },
  ],
  [
    'a config with a text',
    { configs: [{ source: 't', target: 'x' }] },
    { kind: 'secret', name: 'secret[t 0:0 444|cost $1]', target: '/x', mode: 0o444 },
  ],
  [
    'a config from a variable',
    { configs: [{ source: 'e', mode: '0440' }] },
    { kind: 'secret', name: 'secret[e 0:0 440|va$ue]', target: '/e', mode: 0o440 },
  ],
  [
    'a secret from a variable',
    { secrets: [{ source: 's', mode: 0o400, uid: '7' }] },
    { kind: 'secret', name: 'secret[s 7:0 400|va$ue]', target: '/run/secrets/s', mode: 0o400 },
  ],
  [
    'a secret from a file',
    { secrets: [{ source: 'f', target: '/etc/f' }] },
    { kind: 'secret', name: 'secret[f 0:0 444|text]', target: '/etc/f', mode: 0o444 },
  ],
])('%s is kept by the swarm', (_title, service, { kind, name, ...mount }) => {
  const { service: made, stack, contents } = converted(service, root);
  expect(contents.map((content) => [content.kind, content.name])).toEqual([[kind, name]]);
  expect(made[`${kind}s`]).toMatchObject([{ source: name, ...mount }]);
  expect(stack[`${kind}s`]).toEqual({ [name]: { name, external: true } });
  expect(made['volumes']).toEqual([]);
  expect(JSON.stringify(stack).replaceAll(name, '').replaceAll(JSON.stringify(name).slice(1, -1), '')).not.toContain(
    'va$ue',
  );
});

it('doubles the dollar signs of a target again', () => {
  const { service } = converted({ configs: [{ source: 'f', target: '/a$$b' }] }, root);
  expect(service['configs']).toMatchObject([{ target: '/a$$b' }]);
});

it('names empty mounted content', () => {
  const empty = { ...sources, values: new Map([['DB', '']]) };
  const services = { web: { image: 'a', secrets: ['s', 'f'] } };
  expect(stackOf({ ...root, services }, empty).empty).toEqual(['web: /run/secrets/s']);
});

it('keeps a content once for all services that mount it in the same way', () => {
  const { contents, service } = converted(
    { configs: ['f', { source: 'f', target: '/g' }, { source: 'f', target: '/h', mode: 0o400 }] },
    root,
  );
  expect(contents.map(({ name }) => name)).toEqual(['file[0:0 444|text]', 'file[0:0 400|text]']);
  expect(service['configs']).toHaveLength(3);
});
