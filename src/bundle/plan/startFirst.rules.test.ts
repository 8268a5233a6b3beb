import type { ComposeNode } from '../compose/composeNode.rules.ts';
import { parseComposeFile } from '../compose/composeFile.rules.ts';
import { serviceLayers } from '../compose/services.rules.ts';
import { type BundleToStart, readServices } from './bundleToStart.rules.ts';
import {
  imageVolumeFaults,
  plannedReplacements,
  startFirstCandidates,
  startFirstNotices,
  startFirstOfModel,
  startFirstServices,
} from './startFirst.rules.ts';

/** A bundle whose service `web` asks for start-first, with further keys. */
function bundleOf(keys: string, others = ''): BundleToStart {
  return parsed(`services:\n  web: {image: a, deploy: {update_config: {order: start-first}}, ${keys}}\n${others}`);
}

function parsed(text: string): BundleToStart {
  const found = parseComposeFile('c.yaml', text);
  if ('problems' in found) throw new Error(text);
  const files: { path: string; root: ComposeNode }[] = [found.file];
  const resolve = (value: string) => (value.includes('$') ? null : value);
  return { files, services: readServices(serviceLayers(files), resolve), jobs: new Set(), resolve } as BundleToStart;
}

const faultsOf = (bundle: BundleToStart) =>
  startFirstServices(bundle).flatMap(({ faults }) => faults.map(({ text }) => text.replace(/^.* is refused: /, '')));

it.each([
  ['ports: ["8080:80"]', 'ports 8080 is a fixed port of the host, and two containers cannot publish it (c.yaml:2)'],
  [
    'ports: [{target: 80, published: "8080"}]',
    'ports 8080 is a fixed port of the host, and two containers cannot publish it (c.yaml:2)',
  ],
  [
    'ports: ["8080-8081:80"], scale: 2',
    'ports 8080-8081 is a fixed port of the host, and 3 containers need a port each (c.yaml:2)',
  ],
  ['container_name: web', 'container_name is for one container (c.yaml:2)'],
  ['mac_address: 02:42:ac:11:00:02', 'mac_address is for one container (c.yaml:2)'],
  ['networks: {n: {ipv4_address: 10.0.0.2}}', 'networks.n.ipv4_address is for one container (c.yaml:2)'],
  ['networks: {n: {mac_address: "02:42:ac:11:00:02"}}', 'networks.n.mac_address is for one container (c.yaml:2)'],
  ['network_mode: service:db', 'network_mode service:db gives it the ports of another container (c.yaml:2)'],
  ['network_mode: container:db', 'network_mode container:db gives it the ports of another container (c.yaml:2)'],
  ['network_mode: host, expose: [80]', 'network_mode host lets both containers use the ports of the host (c.yaml:2)'],
  ['volumes: ["data:/data"]', 'both containers would write to data, which destroys the data of a database (c.yaml:2)'],
  [
    'volumes: ["/srv:/data:rw"]',
    'both containers would write to /srv, which destroys the data of a database (c.yaml:2)',
  ],
  [
    'volumes: [{type: bind, source: /srv, target: /data}]',
    'both containers would write to /srv, which destroys the data of a database (c.yaml:2)',
  ],
  ['volumes: [/data]', 'the anonymous volume /data is not given to a new container (c.yaml:2)'],
  [
    'volumes: [{type: volume, target: /data}], x-deployd-shared-volume: true',
    'the anonymous volume /data is not given to a new container (c.yaml:2)',
  ],
  ['volumes_from: [db]', 'both containers would write to the volumes of db (c.yaml:2)'],
])('refuses what two containers cannot share: %s', (keys, text) => {
  expect(faultsOf(bundleOf(keys))).toEqual([text]);
});

it.each([
  'ports: ["80"]',
  'ports: ["8080-8089:80"]',
  'expose: [80]',
  'network_mode: host',
  'networks: {n: {aliases: [w]}}',
  'volumes: ["data:/data:ro"]',
  'volumes: ["./conf:/conf:ro"]',
  'volumes: [{type: volume, source: data, target: /data, read_only: true}]',
  'volumes: [{type: tmpfs, target: /data}]',
  'volumes: ["data:/data"], x-deployd-shared-volume: true',
  'volumes_from: ["db:ro"]',
])('permits %s', (keys) => {
  expect(faultsOf(bundleOf(keys))).toEqual([]);
});

it.each([
  ['network_mode: "service:web"', 'network_mode', 'let it use a network and the name of the service'],
  ['pid: "service:web"', 'pid', 'remove pid there'],
  ['ipc: "service:web"', 'ipc', 'remove ipc there'],
  ['links: ["web:w"]', 'links', 'let it use a network and the name of the service'],
  ['volumes_from: [web]', 'volumes_from', 'let it mount the volumes itself'],
])('refuses a service whose container another one uses, and proposes none: %s', (keys, key, cure) => {
  const [text, free] = [`image: b, ${keys}`, 'image: a, tty: true'];
  expect(startFirstServices(bundleOf('', `  other: {${text}}`)).flatMap(({ faults }) => faults)).toEqual([
    {
      text: `service web: order start-first is refused: service other uses its container by ${key} (c.yaml:3)`,
      cure: `${cure}, or leave deploy.update_config.order out`,
    },
  ]);
  expect(startFirstCandidates(parsed(`services: {web: {${free}}, other: {${text}}}`))).not.toContain('web');
});

it('reads how containers are replaced', () => {
  const update = 'order: start-first, parallelism: 0, delay: 1m30s, monitor: 5s';
  const bundle = parsed(`services: {web: {image: a, deploy: {replicas: 3, update_config: {${update}}}}}`);
  expect(startFirstServices(bundle)).toEqual([
    { name: 'web', update: { replicas: 3, parallelism: 3, delay_s: 90, monitor_s: 5 }, faults: [] },
  ]);
});

it('leaves jobs and other orders alone', () => {
  const text = 'services: {job: {image: a, deploy: {update_config: {order: start-first}}}, web: {image: a}}';
  expect(startFirstServices({ ...parsed(text), jobs: new Set(['job']) })).toEqual([]);
});

it('reads the model of compose, which lacks the key for shared volumes', () => {
  const service = { volumes: [{ type: 'volume', source: 'd', target: '/d' }] };
  const deploy = { update_config: { order: 'start-first' } };
  const model = { services: { web: { image: 'a', deploy, ...service }, other: { image: 'a', deploy, ...service } } };
  const written = serviceLayers(bundleOf('x-deployd-shared-volume: true', '  other: {image: a}').files);
  const found = startFirstOfModel(model, { written, jobs: new Set() });
  expect(found.map(({ name, faults }) => [name, faults.length])).toEqual([
    ['web', 0],
    ['other', 1],
  ]);
});

it('names the services that could be replaced so, and do not ask for it', () => {
  const others = ['free: {image: b}', 'data: {image: b, volumes: ["d:/d"]}', 'port: {image: b, ports: ["80:80"]}'];
  const bundle = bundleOf(
    '',
    [...others, 'job: {image: b}', 'off: {image: b, scale: 0}'].map((each) => `  ${each}`).join('\n'),
  );
  expect(startFirstCandidates({ ...bundle, jobs: new Set(['job']) })).toEqual(['free']);
});

it('refuses an image with an anonymous volume, unless something is mounted there', () => {
  const image = { taggedMs: null, user: '', architecture: '', volumes: ['/data'] };
  const faults = (keys: string) => imageVolumeFaults(bundleOf(keys), new Map([['web', image]]));
  expect(faults('').map(({ text }) => text)).toEqual([
    'service web: order start-first is refused: its image has the anonymous volume /data, which is not given to a new container (c.yaml:2)',
  ]);
  expect(faults('tmpfs: [/data]')).toEqual([]);
  expect(faults('volumes: ["d:/data:ro"]')).toEqual([]);
});

it('says how a changed service is replaced, and what both containers would use', () => {
  const bundle = bundleOf('gpus: all', '  db: {image: b}\n  same: {image: c}\n  off: {image: c, scale: 0}');
  const changed = [{ name: 'web' }, { name: 'db' }, { name: 'same', only: 'hooks' as const }, { name: 'off' }];
  expect(plannedReplacements(bundle, changed).map(({ service, order }) => `${service} ${order}`)).toEqual([
    'web start-first',
    'db stop-first',
    'same not replaced',
    'off not replaced',
  ]);
  expect(startFirstNotices(bundle).map(({ text }) => text)).toEqual([
    'service web: order start-first: two of its containers use gpus at the same time (c.yaml:2)',
  ]);
});
