import {
  ambiguousNetworks,
  engineMeansOf,
  type EngineReading,
  resourceUserOf,
  resourceUserOfListEntry,
} from './resources.rules.ts';

const project = 'deployd-eu-1';
const Labels = { 'com.docker.compose.project': project };
const Mounts = [{ Source: '/srv/data' }, { Source: '', Name: 'deployd-eu-1_cache' }];
const NetworkSettings = { Networks: { bridge: {}, 'deployd-eu-1_default': {} } };
const entry = { Id: 'c1', Names: ['/web'], Labels, Image: 'web:1', ImageID: 'sha256:1', Mounts, NetworkSettings };

const mounted = [
  { path: '/srv/data', volume: null, target: '', isWritable: true },
  { path: '', volume: 'deployd-eu-1_cache', target: '', isWritable: true },
];
const user = {
  ...{ id: 'c1', name: 'web', project, image: 'web:1', imageId: 'sha256:1' },
  ...{ mounts: ['/srv/data'], mounted, volumes: ['deployd-eu-1_cache'], networks: ['bridge', 'deployd-eu-1_default'] },
};
const bare = { ...user, mounts: [], mounted: [], volumes: [], networks: [] };

describe('the resources of a container', () => {
  it('are the same in its list entry and its inspection', () => {
    expect(resourceUserOfListEntry(entry)).toStrictEqual(user);
    const inspected = { Id: 'c1', Name: '/web', Image: 'sha256:1', Config: { Image: 'web:1', Labels } };
    expect(resourceUserOf({ ...inspected, Mounts, NetworkSettings })).toStrictEqual(user);
    expect(resourceUserOf({ ...inspected, Mounts: [] })).toStrictEqual(bare);
  });

  it.each<[string, object, object]>([
    ['with its own name, not that of a link to it', { Names: ['/db/alias', '/web'] }, user],
    ['with its id in place of a missing name', { Names: null }, { ...user, name: 'c1' }],
    ['without a project', { Labels: null }, { ...user, project: null }],
    ['with another label only', { Labels: { a: 'b' } }, { ...user, project: null }],
    ['without mounts and networks', { Mounts: null, NetworkSettings: null }, bare],
    ['without a list of networks', { NetworkSettings: { Networks: null } }, { ...user, networks: [] }],
  ])('%s', (_name, more, expected) => {
    expect(resourceUserOfListEntry({ ...entry, ...more })).toStrictEqual(expected);
  });
});

const network = (id: string, name: string, project: string | null = null) => ({ id, name, project });
const own = 'deployd-eu-1';

it.each([
  ['none of names of their own', [network('1', `${own}_default`, own), network('2', 'bridge')], []],
  [
    'one by its label, and another one without',
    [network('1', 'front', own), network('2', 'front')],
    [{ name: 'front', ids: ['1', '2'] }],
  ],
  [
    'those by the name of the project',
    [network('1', `${own}_b`), network('2', `${own}_b`), network('3', `${own}_a`, own), network('4', `${own}_a`, own)],
    [
      { name: `${own}_a`, ids: ['3', '4'] },
      { name: `${own}_b`, ids: ['1', '2'] },
    ],
  ],
  ['none of other projects', [network('1', 'x_default', 'x'), network('2', 'x_default', 'x')], []],
])('ambiguous are %s', (_, networks, expected) => {
  expect(ambiguousNetworks(networks, own)).toEqual(expected);
});

const listener = (port: number) => ({ protocol: 'tcp', address: '0.0.0.0', port, user: 'a program on this host' });
const published = (port: number) => [{ IP: '0.0.0.0', PublicPort: port, Type: 'tcp' }, { Type: 'tcp' }];
const reading: EngineReading = {
  ...{ project, isPodman: false, apiVersion: '1.51', hostname: 'host', info: { Name: 'host', NCPU: 2 } },
  containers: [
    { Id: 'a', Names: ['/own'], Labels, Ports: published(80) },
    { Id: 'b', Names: ['/db'], Labels: null, Ports: [...published(81), { PublicPort: 82 }] },
    { Id: 'c', Names: null, Labels: {}, Ports: null },
  ],
  networks: [
    { Name: 'own', Scope: 'local', Labels, IPAM: { Config: [{ Subnet: '10.1.0.0/24' }] } },
    {
      Name: 'proxy',
      Scope: 'local',
      Labels: null,
      IPAM: { Driver: 'default', Config: [{ Subnet: '10.2.0.0/24' }, {}] },
    },
    { Name: 'far', Scope: 'swarm', Labels: null, IPAM: { Config: [{ Subnet: '10.3.0.0/24' }] } },
    { Name: 'dhcp', Scope: 'local', Labels: null, IPAM: { Driver: 'dhcp', Config: null } },
  ],
  volumes: [{ Name: 'media' }],
  listeners: [listener(22), listener(80), listener(81)],
};

const takenOf = (changes: Partial<EngineReading>) =>
  engineMeansOf({ ...reading, ...changes }).takenPorts.map(({ port, user }) => `${port} ${user}`);
const foreign = ['81 container db', '82 container db'];

it('an engine lists the networks, volumes and ports that are in use by others', () => {
  const { networks, names, hasIpv6Pool, cpus } = engineMeansOf(reading);
  expect(networks).toEqual([{ name: 'proxy', subnets: ['10.2.0.0/24'] }]);
  expect([...(names.networks ?? []), ...names.volumes]).toEqual(['own', 'proxy', 'far', 'dhcp', 'media']);
  expect({ hasIpv6Pool, cpus }).toEqual({ hasIpv6Pool: false, cpus: 2 });
  expect(takenOf({})).toEqual([...foreign, '22 a program on this host', '81 a program on this host']);
});

it.each<[string, Partial<EngineReading>]>([
  ['on another host', { info: { Name: 'docker-desktop' } }],
  ['that is rootless', { info: { Name: 'host', SecurityOptions: ['name=seccomp', 'name=rootless'] } }],
  [
    'that starts a container of the project again',
    {
      containers: [...reading.containers, { Id: 'd', Names: ['/d'], Labels, State: 'restarting' }],
    },
  ],
  [
    'with a container of the project on the network of the host',
    {
      containers: [...reading.containers, { Id: 'd', Names: ['/d'], Labels, HostConfig: { NetworkMode: 'host' } }],
    },
  ],
])('programs of the host do not count for an engine %s', (_title, changes) => {
  expect(takenOf(changes)).toEqual(foreign);
});

it('reads IPv6 addresses from the settings of the engine, and does not list network names in a swarm', () => {
  const info = {
    DefaultAddressPools: [{ Base: '10.0.0.0/8' }, { Base: 'fd00::/64' }],
    Swarm: { LocalNodeState: 'active' },
  };
  expect(engineMeansOf({ ...reading, info })).toMatchObject({ hasIpv6Pool: true, names: { networks: null } });
});
