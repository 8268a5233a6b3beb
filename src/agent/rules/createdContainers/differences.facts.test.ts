import type { CreatedContainer, CreatedResources } from './createdContainer.ts';
import { compareWithModel, type Difference } from './differences.ts';
import type { Allowance, GrantedPrivileges } from './grantedPrivileges.ts';

const base = { Image: '', State: { Status: 'running' }, Mounts: null, NetworkSettings: { Networks: null } };
const container = (service: string, part: Partial<CreatedContainer>): CreatedContainer => {
  return {
    ...base,
    Id: service,
    Name: service,
    Config: { Labels: { 'com.docker.compose.service': service } },
    HostConfig: {},
    ...part,
  };
};
const options = { dir: '/releases/x', hide: (fact: string) => `hidden ${fact}` };
const granted: GrantedPrivileges = { schema: 1, services: {}, networks: {}, volumes: {} };
const resources: CreatedResources = { containers: [], networks: [], volumes: [], isPodman: false };

function differencesOf(created: Partial<CreatedResources>, grants: Partial<GrantedPrivileges>): Difference[] {
  return compareWithModel({ ...granted, ...grants }, { ...resources, ...created }, options);
}

/** The facts by which a container of the service `web` differs. */
function factsBeyond(part: Partial<CreatedContainer>, allowed: Partial<Allowance>, isPodman = false): string[] {
  const containers = [container('web', part), container('db', {})];
  const web = { may: [], must: [], ...allowed };
  return differencesOf({ containers, isPodman }, { services: { web } }).map(({ fact }) => fact);
}

const mount = (Source: string) => ({ Type: 'bind', Source, Destination: '/x', RW: true, Propagation: 'shared' });
const devices = [{ PathOnHost: '/dev/a', PathInContainer: '/dev/a', CgroupPermissions: 'rwm' }];

it.each<[string, Partial<CreatedContainer>]>([
  ['privileged', { HostConfig: { CapAdd: ['KILL'], Devices: devices, SecurityOpt: ['seccomp=unconfined'] } }],
  ['capability ALL', { HostConfig: { CapAdd: ['KILL'] } }],
  ['mount *', { Mounts: [mount('/etc')] }],
  ['link *', { HostConfig: { Links: ['/other:/web/alias'] } }],
  ['pid container', { HostConfig: { PidMode: 'container:db' } }],
  ['ipc container', { HostConfig: { IpcMode: 'container:db' } }],
  ['network container', { HostConfig: { NetworkMode: 'container:db' } }],
])('the grant %s covers what it implies', (grant, part) => {
  expect(factsBeyond(part, { may: [grant] })).toEqual([]);
  expect(factsBeyond(part, { may: ['another'] })).not.toEqual([]);
});

it.each(['privileged', 'capability ALL', 'mount *', 'link *', 'pid container', 'ipc container', 'network container'])(
  'the grant %s covers no fact that only contains what it covers',
  (grant) => {
    const text = 'capability device security mount write propagation link pid service ipc service network service x';
    const Sysctls = { 'kernel.core_pattern': text };
    expect(factsBeyond({ HostConfig: { Sysctls } }, { may: [grant] })).toEqual([
      `has sysctl kernel.core_pattern=${text}`,
    ]);
  },
);

it.each([
  'sysctl net.x',
  'runtime x',
  'no-new-privileges',
  'without x',
  'subpath x',
  'cgroup private',
  'option size=x',
  'option com.docker.network.driver.mtu=x',
])('a fact that only contains the harmless one %s is reported', (harmless) => {
  const Sysctls = { 'kernel.core_pattern': harmless };
  expect(factsBeyond({ HostConfig: { Sysctls } }, {})).toEqual([`has sysctl kernel.core_pattern=${harmless}`]);
});

it('the whole volume instead of a part of it is reported, a part instead of the whole is not', () => {
  const part = (Subpath: string) => ({ HostConfig: { Mounts: [{ Target: '/x', VolumeOptions: { Subpath } }] } });
  const must = ['subpath /x a'];
  expect(factsBeyond(part('a'), { must })).toEqual([]);
  expect(factsBeyond(part('b'), { must })).toEqual(['lacks subpath /x a']);
  expect(factsBeyond(part(''), { must })).toEqual(['lacks subpath /x a']);
  expect(factsBeyond(part('a'), {})).toEqual([]);
});

it('a network or volume that something else made is reported', () => {
  const web = container('web', {
    Mounts: [{ Type: 'volume', Name: 'v', Source: '/v', Destination: '/x', RW: false }],
    NetworkSettings: { Networks: { n: null } },
  });
  const allowed = {
    may: ['mount /x volume v', 'network n'],
    must: ['volume of the project v', 'network of the project n'],
  };
  const factsOf = (isOwn: boolean) => {
    const network = { id: 'n', name: 'n', driver: 'bridge', options: {}, internal: true };
    const made = { networks: isOwn ? [network] : [], volumes: [{ name: 'v', driver: 'local', options: {}, isOwn }] };
    return differencesOf({ containers: [web], ...made }, { services: { web: allowed } }).map(({ fact }) => fact);
  };
  expect(factsOf(true)).toEqual([]);
  expect(factsOf(false)).toEqual(['lacks volume of the project v', 'lacks network of the project n']);
});

it('a network or volume of the project that a service does not use stands for none that it must', () => {
  const volumes = ['v', 'w'].map((name) => ({ name, driver: 'local', options: {}, isOwn: true }));
  const networks = ['n', 'm'].map((name) => ({ id: name, name, driver: 'bridge', options: {}, internal: true }));
  const must = [...volumes, ...networks].map(
    ({ name }) => `${'vw'.includes(name) ? 'volume' : 'network'} of the project ${name}`,
  );
  const factsOf = (Type: string) => {
    const web = container('web', {
      Mounts: [{ Type, Name: 'v', Source: '/v', Destination: '/x', RW: false }],
      NetworkSettings: { Networks: { n: null } },
    });
    const may = ['mount /x volume v', 'mount /x bind /v', 'network n'];
    const services = { web: { may, must } };
    const granted = { services, networks: { n: null, m: null }, volumes: { v: null, w: null } };
    return differencesOf({ containers: [web], networks, volumes }, granted).map(({ fact }) => fact);
  };
  expect(factsOf('volume')).toEqual(['lacks volume of the project w', 'lacks network of the project m']);
  expect(factsOf('bind')).toEqual([
    ...['lacks volume of the project v', 'lacks volume of the project w'],
    'lacks network of the project m',
  ]);
});

it('options of networks that open nothing are not compared', () => {
  const network = (names: string[]) => {
    const options = Object.fromEntries(names.map((name) => [`com.docker.network.${name}`, 'x']));
    return { id: 'n', name: 'n', driver: 'bridge', internal: true, options };
  };
  const bridge = ['enable_icc', 'enable_ip_masquerade', 'host_binding_ipv4'].map((name) => `bridge.${name}`);
  const networks = { n: { may: ['driver bridge'], must: [] } };
  const factsOf = (...names: string[]) =>
    differencesOf({ networks: [network(names)] }, { networks }).map(({ fact }) => fact);
  expect(factsOf('enable_ipv4', 'enable_ipv6', 'driver.mtu', ...bridge)).toEqual([]);
  expect(factsOf('enable_ipv46', 'bridge.name', 'driver.mtux')).toEqual([
    'has option com.docker.network.enable_ipv46=x',
    'has option com.docker.network.bridge.name=x',
    'has option com.docker.network.driver.mtux=x',
  ]);
});

it('a missing fact is reported; of Podman, which reports too few, only that a volume or network is of the project', () => {
  const allowed = { must: ['without ALL', 'hidden runtime '] };
  expect(factsBeyond({}, allowed)).toEqual(['lacks without ALL']);
  const owned = ['volume of the project v', 'network of the project n'];
  expect(factsBeyond({}, { must: ['without ALL', ...owned] }, true)).toEqual(owned.map((fact) => `lacks ${fact}`));
  expect(factsBeyond({ HostConfig: { GroupAdd: ['0'] } }, allowed, true)).toEqual(['has group 0']);
});

it('a difference names its owner, the containers to recreate and the network', () => {
  const attached = { NetworkSettings: { Networks: { n: null } } };
  const [web, db, other] = [
    container('web', { ...attached, HostConfig: { Privileged: true } }),
    container('db', attached),
    container('other', { HostConfig: { Privileged: true } }),
  ];
  const network = { id: 'n', name: 'n', driver: 'macvlan', options: {}, internal: true };
  const volume = { name: 'v', driver: 'nfs', options: {}, isOwn: false };
  const none = { may: ['network n'], must: [] };
  const created = {
    containers: [web, db, other],
    networks: [network, { ...network, name: 'external' }, { ...network, name: 'unknown' }],
    volumes: [volume, { ...volume, name: 'external' }, { ...volume, name: 'unknown' }],
  };
  const grants = {
    services: { web: none, db: none },
    networks: { 'hidden n': none, external: null },
    volumes: { v: none, external: null },
  };
  expect(differencesOf(created, grants)).toEqual([
    { owner: 'service web', fact: 'has privileged', containers: [web], network: null },
    { owner: 'network n', fact: 'has driver macvlan', containers: [web, db], network },
    { owner: 'volume v', fact: 'has driver nfs', containers: [], network: null },
  ]);
});
