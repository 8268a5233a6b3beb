import {
  type ExpectedImport,
  expectImport,
  importedBundle,
  resultOf,
} from '../../../fixtures/world/import/importing.ts';
import type { ImportChoices } from './importWork.rules.ts';

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
  ['deploy: {replicas: 2, placement: {max_replicas_per_node: 1}}', { deploy: { replicas: 2 } }, 1],
  ['configs: [{source: c, uid: "33", gid: "33"}]', { configs: ['c'] }, 2],
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

const compose = 'services: {a: {image: x}, b: {image: y, profiles: [p, q]}, c: {image: z, profiles: [r]}}\n';

/** The result of choosing these profiles. */
function choiceOf(...names: string[]) {
  const choices = { profiles: { names, by: 'COMPOSE_PROFILES of .env' } };
  const { manifest, report } = importedBundle({ 'compose.yaml': compose }, choices);
  const { changes, undecided, inactive_profiles: inactive } = report;
  const told = [...changes.map(({ what, why }) => `${what}: ${why}`), ...undecided.map(({ what }) => what)];
  return { profiles: manifest.profiles, inactive, told };
}

it.each<[string, string[], ReturnType<typeof choiceOf>]>([
  ['none is chosen by itself', [], { profiles: undefined, inactive: ['p', 'q', 'r'], told: [] }],
  [
    'a chosen one is in the manifest',
    ['r'],
    { profiles: ['r'], inactive: ['p', 'q'], told: ['r: chosen by COMPOSE_PROFILES of .env'] },
  ],
  [
    'all are',
    ['*', 'p'],
    { profiles: ['p', 'q', 'r'], inactive: [], told: ['p, q, r: chosen by COMPOSE_PROFILES of .env'] },
  ],
  [
    'one that no service has is left to decide',
    ['s'],
    { profiles: undefined, inactive: ['p', 'q', 'r'], told: ['no service has the profile s'] },
  ],
])('of the profiles of a project %s', (_title, names, expected) => {
  expect(choiceOf(...names)).toEqual(expected);
});

it('the profiles that services share by a merge key are found', () => {
  const text = 'x-base: &base {profiles: [p]}\nservices: {a: {image: x}, b: {<<: *base, image: y}}\n';
  const { report } = importedBundle({ 'compose.yaml': text });
  expect(report.inactive_profiles).toEqual(['p']);
});

describe('what a host does not do', () => {
  it.each<[string, string, ExpectedImport, Partial<ImportChoices>?]>([
    [
      'a build is left out where there is an image',
      '{image: x, build: .}',
      { a: { image: 'x' }, changes: [/build: is left out; push the image x/] },
    ],
    ['a build without an image is left open', '{build: .}', { a: { build: '.' }, undecided: [/--image a=REFERENCE/] }],
    ['an image can be chosen', '{build: .}', { a: { image: 'r/x:1' } }, { images: new Map([['a', 'r/x:1']]) }],
    ['empty profiles are left out', '{image: x, profiles: ["", p]}', { a: { image: 'x', profiles: ['p'] } }],
    [
      'logs stay on the host',
      '{image: x, logging: {driver: syslog, options: {syslog-address: "tcp://log:514"}}}',
      { a: { image: 'x' }, changes: [/^service a: logging: the driver syslog is left out$/] },
    ],
    [
      'as those of a driver of the host do',
      '{image: x, logging: {driver: journald, options: {tag: t}}}',
      { a: { image: 'x', logging: { driver: 'journald', options: { tag: 't' } } } },
    ],
    [
      'nobody waits for more than five minutes',
      '{image: x, stop_grace_period: 1h}',
      { a: { stop_grace_period: '5m0s' }, changes: [/stop_grace_period: 1h is 300s now/] },
    ],
    [
      'a container of the project is joined by its service',
      '{image: x, network_mode: "container:vpn", pid: "container:other"}, b: {image: x, container_name: vpn}',
      {
        a: { network_mode: 'service:b', pid: 'container:other' },
        changes: [/container:vpn is written as service:b, with depends_on/],
      },
    ],
  ])('%s', (_, service, expected, choices = {}) => {
    expectImport([service, {}], expected, choices);
  });

  it('has no network of a swarm', () => {
    const networks =
      'networks: {n: {driver: overlay, driver_opts: {encrypted: ""}, attachable: true}, m: {driver: bridge}}';
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${networks}\n` });
    expect(found.top).toEqual({ networks: { n: { attachable: true }, m: { driver: 'bridge' } } });
    expect(found.changes).toEqual(['network n: driver: overlay is left out, with its driver_opts']);
  });

  it('names no bridge of the host', () => {
    const [named, mtu] = ['com.docker.network.bridge.name', 'com.docker.network.driver.mtu'];
    const networks = `networks: {n: {driver_opts: {${named}: br0}}, m: {driver_opts: {${named}: br1, ${mtu}: 1400}}}`;
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${networks}\n` });
    expect(found.top).toEqual({ networks: { n: {}, m: { driver_opts: { [mtu]: 1400 } } } });
    expect(found.changes).toContain(`network n: driver_opts: ${named} is left out`);
  });

  it('joins the network of its project instead of the bridge that all share', () => {
    expectImport(['{image: x, network_mode: bridge}', {}], {
      a: { image: 'x' },
      changes: [/^service a: network_mode: bridge is left out; networks has default now$/],
    });
  });

  it('reads secrets from the secretstore, and brings configs along', () => {
    const sections =
      'configs: {c: {file: c.conf}, k: {file: k.pem}, e: {external: true}}\nsecrets: {s: {file: s.txt}, t: {external: true, name: n}}\n';
    const files = { 'c.conf': 'x', 'k.pem': '-----BEGIN RSA PRIVATE KEY-----', 's.txt': 'hunter2' };
    const found = resultOf({ 'compose.yaml': `services: {a: {image: x}}\n${sections}`, ...files });
    expect(found).toMatchObject({
      top: {
        configs: { c: { file: './c.conf' }, k: { environment: 'K' }, e: { external: true } },
        secrets: { s: { environment: 'S' }, t: { environment: 'T' } },
      },
      ...{ secrets: ['K', 'S', 'T'], copies: ['c.conf'] },
    });
  });
});

const devices = [{ driver: 'nvidia', count: 'all', capabilities: ['gpu'] }];

it.each<[string, string, ExpectedImport]>([
  [
    "a service of NVIDIA's runtime reserves GPUs",
    '{image: x, runtime: nvidia}',
    {
      a: { image: 'x', deploy: { resources: { reservations: { devices } } } },
      changes: [/^service a: runtime: nvidia is a reservation of all GPUs under deploy now$/],
    },
  ],
  [
    'its other limits stay',
    '{image: x, runtime: nvidia, deploy: {resources: {limits: {cpus: "1"}, reservations: {memory: 1g}}}}',
    { a: { deploy: { resources: { limits: { cpus: '1' }, reservations: { memory: '1g', devices } } } } },
  ],
  [
    'a limit that is not a mapping is replaced',
    '{image: x, runtime: nvidia, deploy: {resources: text}}',
    { a: { deploy: { resources: { reservations: { devices } } } } },
  ],
  [
    'one that reserves some itself keeps these',
    '{image: x, runtime: nvidia, gpus: [{driver: nvidia, count: 1}]}',
    { a: { image: 'x', gpus: [{ driver: 'nvidia', count: 1 }] } },
  ],
  ['another runtime stays', '{image: x, runtime: runsc}', { a: { image: 'x', runtime: 'runsc' } }],
])('%s', (_title, service, expected) => {
  expectImport([service, {}], expected);
});

it.each<[string, string, ExpectedImport]>([
  [
    'a device file that is mounted',
    '{image: x, volumes: ["/dev/net/tun:/dev/net/tun", "data:/d"]}',
    {
      a: { image: 'x', volumes: ['data:/d'], devices: ['/dev/net/tun:/dev/net/tun'] },
      changes: [/\/dev\/net\/tun:\/dev\/net\/tun is under devices now/],
    },
  ],
  [
    'one in the long form, beside other devices',
    '{image: x, devices: ["/dev/a:/dev/a"], volumes: [{type: bind, source: /dev/b, target: /dev/c}]}',
    { a: { image: 'x', devices: ['/dev/a:/dev/a', '/dev/b:/dev/c'] }, changes: [/under devices now/] },
  ],
  [
    'shared memory, which is none,',
    '{image: x, volumes: ["/dev/shm:/dev/shm"]}',
    { a: { image: 'x', volumes: ['dev-shm:/dev/shm'] } },
  ],
])('%s', (_title, service, expected) => {
  expectImport([service, {}], expected);
});
