import {
  composeRangeOf,
  type ComposeVersion,
  engineAnswerFault,
  engineMeansOf,
  type EngineReading,
  isInRange,
  leaderInstead,
  membershipFault,
  noLeaderFault,
  saysEngineAway,
  type SwarmMembership,
} from './engineAnswer.rules.ts';

it.each([
  [
    500,
    '(HTTP code 500) server error - driver "overlay2" failed to remove root filesystem',
    'ENGINE_ERROR: the container engine answers 500: driver "overlay2" failed to remove root filesystem: the engine cannot remove a container; free its files',
  ],
  [409, 'a\n  b\u0007', 'ENGINE_ERROR: the container engine answers 409: a b\ufffd'],
  [
    500,
    'mkdir /data/x: no space left on device',
    'DISK_INSUFFICIENT: the container engine answers 500: mkdir /data/x: no',
  ],
  [500, '', 'ENGINE_ERROR: the container engine answers 500'],
  [503, '', 'RUNTIME_UNAVAILABLE: the container engine answers 503'],
  [500, 'dial unix /run/containerd/containerd.sock: connect: connection refused', 'RUNTIME_UNAVAILABLE: '],
  [500, 'ttrpc: closed: unknown', 'RUNTIME_UNAVAILABLE: '],
  [500, 'rpc error: The swarm does not have a leader', 'RUNTIME_UNAVAILABLE: the swarm has no leader'],
])('the answer %d "%s" is %s', (statusCode, message, line) => {
  const fault = engineAnswerFault({ statusCode, message });
  expect(fault.message.startsWith(line) && fault.ending === 'failed').toBe(true);
  expect(line.startsWith(`${fault.code}: `)).toBe(true);
});

it.each([
  ['Cannot connect to the Docker daemon at unix:///run/docker.sock. Is the docker daemon running?', true],
  ['error during connect: Post "http://%2Frun%2Fdocker.sock/v1.41/containers/create": EOF', true],
  ['Error response from daemon: driver failed', false],
  ['dial tcp 10.0.0.1:443: connect: connection refused', false],
])('"%s" means that the engine is unavailable: %p', (output, expected) => {
  expect(saysEngineAway(output)).toBe(expected);
});

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

it('reads IPv6 addresses from the settings of the engine, and does not list network names in a swarm', () => {
  const info = {
    DefaultAddressPools: [{ Base: '10.0.0.0/8' }, { Base: 'fd00::/64' }],
    Swarm: { LocalNodeState: 'active' },
  };
  expect(engineMeansOf({ ...reading, info })).toMatchObject({ hasIpv6Pool: true, names: { networks: null } });
});

const manager: SwarmMembership = { NodeID: 'n1', LocalNodeState: 'active', ControlAvailable: true, Error: '' };
const node = (ID: string, Hostname: string, ManagerStatus?: { Leader?: boolean }) => ({
  ID,
  Description: { Hostname },
  ...(ManagerStatus && { ManagerStatus }),
});
const noLeader = 'RUNTIME_UNAVAILABLE: the swarm has no leader; start managers until more than half of them answer';

it.each([
  ['an engine in no swarm', { LocalNodeState: 'inactive', ControlAvailable: false }, 'docker swarm join'],
  ['a locked manager', { LocalNodeState: 'locked', ControlAvailable: false }, '(locked)'],
  ['a worker', { ControlAvailable: false }, 'run docker node promote n1 on a manager'],
  ['a manager without a quorum', { Error: 'rpc error: The swarm does not have a leader.' }, noLeader],
])('describes the fix for %s, and does not act', (_, difference, words) => {
  const fault = membershipFault({ ...manager, ...difference });
  expect(fault).toMatchObject({ ending: 'failed', code: 'RUNTIME_UNAVAILABLE' });
  expect(fault!.message).toContain(words);
});

it('finds no problem with a manager that reaches the swarm', () => {
  expect(membershipFault(manager)).toBeNull();
});

const nodes = [node('n1', 'one', {}), node('n2', 'two', { Leader: true }), node('n3', 'three')];

it("lets the leader act, and reports the leader's name on every other manager", () => {
  expect(leaderInstead({ NodeID: 'n2' }, nodes)).toBeNull();
  expect(leaderInstead({ NodeID: 'n1' }, nodes)).toBe('two');
});

it.each([
  [
    "rpc error: code = Unknown desc = The swarm does not have a leader. It's possible that too few managers are online.",
    true,
  ],
  ['rpc error: code = DeadlineExceeded desc = context deadline exceeded', true],
  ['Get "https://registry/v2/": context deadline exceeded', false],
  ['', false],
])('treats the answer %j as a swarm without a leader: %s', (answer, isOne) => {
  expect(noLeaderFault(answer)?.message ?? '').toMatch(isOne ? noLeader : /^$/);
});

it('lets no manager act while there is no leader', () => {
  expect(() => leaderInstead({ NodeID: 'n1' }, [nodes[0]!, nodes[2]!])).toThrow(noLeader);
});

it.each<[podman: string | null, compose: ComposeVersion, works: boolean]>([
  [null, [2, 19], false],
  [null, [1, 29], false],
  [null, [2, 20], true],
  [null, [2, 31], true],
  [null, [5, 6], true],
  ['4.3.1', [2, 19], false],
  ['4.3.1', [2, 20], true],
  ['4.3.1', [2, 30], true],
  ['4.3.1', [2, 31], false],
  ['4.9.5', [5, 6], false],
  ['5.3.2', [2, 31], false],
  ['5.4.0-rc1', [2, 31], true],
  ['5.4.2', [5, 6], true],
  ['6.0.0', [5, 6], true],
  ['6.0.0', [2, 19], false],
])('with Podman %s compose %j works: %s', (podman, compose, works) => {
  expect(isInRange(compose, composeRangeOf(podman))).toBe(works);
});

it('describes the supported versions', () => {
  expect(composeRangeOf('5.4.2').requirement).toBe('compose 2.20 or newer is needed');
  expect(composeRangeOf('4.3.1').requirement).toBe(
    'compose 2.20 to 2.30 is needed with Podman 4.3.1, or Podman 5.4 or newer',
  );
});
