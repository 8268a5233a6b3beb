import { engineMeansOf, type EngineReading } from './engineMeans.ts';

const project = 'deployd-eu-1';
const labels = { 'com.docker.compose.project': project };
const listener = (port: number) => ({ protocol: 'tcp', address: '0.0.0.0', port, user: 'a program on this host' });
const published = (port: number) => [{ IP: '0.0.0.0', PublicPort: port, Type: 'tcp' }, { Type: 'tcp' }];
const reading: EngineReading = {
  ...{ project, isPodman: false, apiVersion: '1.51', hostname: 'host', info: { Name: 'host', NCPU: 2 } },
  containers: [
    { Id: 'a', Names: ['/own'], Labels: labels, Ports: published(80) },
    { Id: 'b', Names: ['/db'], Labels: null, Ports: [...published(81), { PublicPort: 82 }] },
    { Id: 'c', Names: null, Labels: {}, Ports: null },
  ],
  networks: [
    { Name: 'own', Scope: 'local', Labels: labels, IPAM: { Config: [{ Subnet: '10.1.0.0/24' }] } },
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

it('an engine lists the networks, volumes and ports that others use', () => {
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
      containers: [...reading.containers, { Id: 'd', Names: ['/d'], Labels: labels, State: 'restarting' }],
    },
  ],
  [
    'with a container of the project on the network of the host',
    {
      containers: [
        ...reading.containers,
        { Id: 'd', Names: ['/d'], Labels: labels, HostConfig: { NetworkMode: 'host' } },
      ],
    },
  ],
])('programs of the host do not count for an engine %s', (_title, changes) => {
  expect(takenOf(changes)).toEqual(foreign);
});

it('knows addresses of IPv6 from the settings of the engine, and no names of networks in a swarm', () => {
  const info = {
    DefaultAddressPools: [{ Base: '10.0.0.0/8' }, { Base: 'fd00::/64' }],
    Swarm: { LocalNodeState: 'active' },
  };
  expect(engineMeansOf({ ...reading, info })).toMatchObject({ hasIpv6Pool: true, names: { networks: null } });
});
