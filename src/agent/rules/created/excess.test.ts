import type { Creation, Made } from './created.ts';
import { describeDifferences, differencesOf } from './excess.ts';
import { grantedOf, parseGranted, sealed } from './granted.ts';

const [dir, before] = ['a', 'b'].map((letter) => `/releases/${letter.repeat(64)}`) as [string, string];
const anonymous = 'a'.repeat(64);
const project = { name: 'p', networks: { default: { name: 'p_default' } }, volumes: { data: { name: 'p_data' } } };
const id = { web: '1'.repeat(64), db: '2'.repeat(64) };

type Parts = { HostConfig?: object; Mounts?: object[]; networks?: string[] };

function container(
  service: keyof typeof id,
  { HostConfig = {}, Mounts = [], networks = ['p_default'] }: Parts,
): Creation {
  return {
    Id: id[service],
    Name: `/p-${service}-1`,
    Image: '',
    State: { Status: 'created' },
    Config: { Labels: { 'com.docker.compose.service': service } },
    HostConfig,
    Mounts: Mounts as Creation['Mounts'],
    NetworkSettings: { Networks: Object.fromEntries(networks.map((name) => [name, {}])) },
  };
}

const volumes = [
  { name: anonymous, driver: 'local', options: {} },
  { name: 'p_data', driver: 'local', options: {} },
];
const network = {
  id: 'n',
  name: 'p_default',
  driver: 'bridge',
  options: {},
  internal: false,
};

/** What differs between what a service `web` was given and what was made of it. */
function told(service: object, parts: Parts, more: Partial<Made> = {}): string {
  const model = { ...project, services: { web: { networks: { default: null }, ...service }, db: {} } };
  const containers = [container('web', parts), container('db', { networks: [] })];
  const made = { containers, volumes, networks: [network], isPodman: false, ...more };
  return describeDifferences(
    differencesOf(grantedOf(model, dir), made, { dir, hide: (fact) => `hidden ${fact.length}` }),
  );
}

const bind = (Source: string, Destination: string, more: object = {}) => {
  return { Type: 'bind', Source, Destination, RW: true, Propagation: 'rprivate', ...more };
};
const volume = (Name: string, Destination: string) => {
  return { Type: 'volume', Name, Source: `/volumes/${Name}`, Destination, Driver: 'local', RW: true, Propagation: '' };
};

it.each<[string, object, Parts]>([
  ['an anonymous volume', { volumes: [{ type: 'volume', target: '/x' }] }, { Mounts: [volume(anonymous, '/x')] }],
  ['one that its image wants', {}, { Mounts: [volume(anonymous, '/x')] }],
  [
    'a named volume',
    { volumes: [{ type: 'volume', source: 'data', target: '/x/' }] },
    { Mounts: [volume('p_data', '/x')] },
  ],
  [
    'a file of the release',
    { volumes: [{ type: 'bind', source: `${dir}/c`, target: '/c' }] },
    { Mounts: [bind(`${dir}/c`, '/c')] },
  ],
  [
    'an unchanged file of the release before',
    { volumes: [{ type: 'bind', source: `${dir}/c`, target: '/c' }] },
    { Mounts: [bind(`${before}/c`, '/c')] },
  ],
  [
    'a bind with a dollar sign',
    { volumes: [{ type: 'bind', source: '/a$$b', target: '/c' }] },
    { Mounts: [bind('/a$b', '/c')] },
  ],
  [
    'a bind above the engine',
    { volumes: [{ type: 'bind', source: '/', target: '/c' }] },
    { Mounts: [bind('/', '/c', { Propagation: 'rslave' })] },
  ],
  [
    'a tmpfs',
    { volumes: [{ type: 'tmpfs', target: '/t' }] },
    { Mounts: [{ Type: 'tmpfs', Source: '', Destination: '/t', RW: true }] },
  ],
  ['a capability, however written', { cap_add: ['cap_net_admin'] }, { HostConfig: { CapAdd: ['NET_ADMIN'] } }],
  [
    'what privileged brings along',
    { privileged: true },
    { HostConfig: { Privileged: true, SecurityOpt: ['label=disable'] } },
  ],
  [
    'a device in short',
    { devices: ['/dev/null'] },
    { HostConfig: { Devices: [{ PathOnHost: '/dev/null', PathInContainer: '/dev/null', CgroupPermissions: 'rwm' }] } },
  ],
  [
    'a device in long',
    { devices: [{ source: '/dev/null', target: '/d', permissions: 'r' }] },
    { HostConfig: { Devices: [{ PathOnHost: '/dev/null', PathInContainer: '/d', CgroupPermissions: 'r' }] } },
  ],
  [
    'a seccomp profile',
    { security_opt: ['seccomp:./p.json'] },
    { HostConfig: { SecurityOpt: ['seccomp={"a":"b:c"}'] } },
  ],
  [
    'no new privileges',
    { security_opt: ['no-new-privileges=true'] },
    { HostConfig: { SecurityOpt: ['no-new-privileges'] } },
  ],
  ['the namespace of a service', { pid: 'service:db' }, { HostConfig: { PidMode: `container:${id.db}` } }],
  ['the namespace of a container', { pid: 'container:p-db-1' }, { HostConfig: { PidMode: `container:${id.db}` } }],
  [
    'the network of a service',
    { networks: undefined, network_mode: 'service:db' },
    { networks: [], HostConfig: { NetworkMode: `container:${id.db}` } },
  ],
  [
    'the network of the host',
    { networks: undefined, network_mode: 'host' },
    { networks: ['host'], HostConfig: { NetworkMode: 'host' } },
  ],
  [
    'no network',
    { networks: undefined, network_mode: 'none' },
    { networks: ['none'], HostConfig: { NetworkMode: 'none' } },
  ],
  ['what takes power away', { cap_drop: ['ALL'] }, { HostConfig: { CapDrop: ['ALL'] } }],
  [
    'what nobody asked for',
    {},
    { HostConfig: { CapDrop: ['KILL'], IpcMode: 'private', CgroupnsMode: 'private', Runtime: 'runc' } },
  ],
])('finds nothing where it has %s', (_what, service, parts) => {
  expect(told(service, parts)).toBe('');
});

it.each<[string, object, Parts, string]>([
  [
    'a bind of before',
    { volumes: [{ type: 'volume', target: '/x' }] },
    { Mounts: [bind('/etc', '/x')] },
    'has mount /x bind /etc; service web: has write /x',
  ],
  [
    'a volume of before',
    { volumes: [{ type: 'volume', target: '/x' }] },
    { Mounts: [volume('p_data', '/x')] },
    'has mount /x volume p_data; service web: has write /x',
  ],
  [
    'a volume that only looks anonymous',
    {},
    { Mounts: [volume('b'.repeat(64), '/x')] },
    `has mount /x volume ${'b'.repeat(64)}; service web: has write /x`,
  ],
  [
    'a bind that may be written',
    { volumes: [{ type: 'bind', source: '/a', target: '/a', read_only: true }] },
    { Mounts: [bind('/a', '/a')] },
    'has write /a',
  ],
  [
    'propagation to the host',
    { volumes: [{ type: 'bind', source: '/a', target: '/a' }] },
    { Mounts: [bind('/a', '/a', { Propagation: 'rshared' })] },
    'has propagation /a rshared',
  ],
  ['a bind less', { volumes: [{ type: 'bind', source: '/a', target: '/a' }] }, {}, 'lacks mount /a bind /a'],
  ['all power', {}, { HostConfig: { Privileged: true } }, 'has privileged'],
  ['a capability', { cap_add: ['KILL'] }, { HostConfig: { CapAdd: ['CAP_SYS_ADMIN'] } }, 'has capability SYS_ADMIN'],
  ['capabilities that it was to lose', { cap_drop: ['ALL'] }, {}, 'lacks without ALL'],
  ['new privileges', { security_opt: ['no-new-privileges:true'] }, {}, 'lacks no-new-privileges'],
  ['no seccomp', {}, { HostConfig: { SecurityOpt: ['seccomp=unconfined'] } }, 'has security seccomp=unconfined'],
  ['the whole of /proc', {}, { HostConfig: { MaskedPaths: [] } }, 'has security systempaths=unconfined'],
  [
    'a device',
    {},
    { HostConfig: { Devices: [{ PathOnHost: '/dev/sda', PathInContainer: '/d', CgroupPermissions: 'rwm' }] } },
    'has device /dev/sda:/d:rwm',
  ],
  ['a device by a driver', {}, { HostConfig: { DeviceRequests: [{}] } }, 'has device request'],
  ['a device rule', {}, { HostConfig: { DeviceCgroupRules: ['a *:* rwm'] } }, 'has device rule a *:* rwm'],
  ['a group', {}, { HostConfig: { GroupAdd: ['0'] } }, 'has group 0'],
  ['a sysctl', {}, { HostConfig: { Sysctls: { 'kernel.x': '1', 'net.x': '1' } } }, 'has sysctl kernel.x=1'],
  ['another runtime', { runtime: 'runc' }, { HostConfig: { Runtime: 'kata' } }, 'lacks runtime runc'],
  ['the processes of the host', {}, { HostConfig: { PidMode: 'host' } }, 'has pid host'],
  ['the memory of another service', {}, { HostConfig: { IpcMode: `container:${id.db}` } }, 'has ipc service db'],
  ['the name of the host', {}, { HostConfig: { UTSMode: 'host' } }, 'has uts host'],
  ['the users of the host', {}, { HostConfig: { UsernsMode: 'host' } }, 'has userns host'],
  [
    'the network of the host',
    {},
    { HostConfig: { NetworkMode: 'host' } },
    'has network host; service web: lacks network p_default',
  ],
  ['a network of others', {}, { networks: ['p_default', 'q'] }, 'has network q'],
  ['a link', {}, { HostConfig: { Links: ['/other:/p-web-1/alias', '/p-db-1:/p-web-1/db'] } }, 'has link other'],
  ['a place in the host’s tree', {}, { HostConfig: { CgroupParent: '/system' } }, 'has cgroup_parent /system'],
  [
    'a life that is spared',
    {},
    { HostConfig: { OomKillDisable: true, OomScoreAdj: -5 } },
    'has oom_kill_disable; service web: has oom_score_adj -5',
  ],
])('tells a service that has %s', (_what, service, parts, expected) => {
  expect(told(service, parts)).toBe(`service web: ${expected}`);
});

it.each<[string, Partial<Made>, string]>([
  ['driver', { networks: [{ ...network, driver: 'macvlan' }] }, 'network p_default: has driver macvlan'],
  [
    'power',
    { networks: [{ ...network, options: { parent: 'eth0', 'com.docker.network.driver.mtu': '1' } }] },
    'network p_default: has option parent=eth0',
  ],
  [
    'directory',
    { volumes: [...volumes.slice(0, 1), { name: 'p_data', driver: 'local', options: { o: 'bind', size: '1' } }] },
    'volume p_data: has option o=bind',
  ],
])('tells what exists with another %s', (_what, made, expected) => {
  expect(told({}, {}, made)).toBe(expected);
});

it('gives a service the mounts of those that it takes volumes from, but for its own', () => {
  const volumesOf = (...targets: string[]) => targets.map((target) => ({ type: 'bind', source: '/s', target }));
  const model = {
    ...project,
    services: {
      web: { volumes_from: ['db:ro'], volumes: [{ type: 'volume', target: '/two' }] },
      db: { volumes: volumesOf('/one', '/two') },
    },
  };
  expect(grantedOf(model, dir).services['web']).toEqual({
    may: ['mount /one bind /s', 'propagation /one rslave'],
    must: [],
  });
});

it('gives a service its configs and secrets', () => {
  const files = { c: { file: `${dir}/c` } };
  const web = { configs: [{ source: 'c' }], secrets: [{ source: 'c', target: 'named' }] };
  const granted = grantedOf({ ...project, configs: files, secrets: files, services: { web } }, dir);
  expect(granted.services['web']?.may).toEqual(['mount /c bind ./c', 'mount /run/secrets/named bind ./c']);
});

it('compares what is hidden, and reads back what was written', () => {
  const model = {
    ...project,
    services: { web: { volumes: [{ type: 'bind', source: '/s3cret', target: '/a' }] }, db: {} },
  };
  const hide = (fact: string) => `hidden ${fact.length}`;
  const granted = sealed(grantedOf(model, dir), (fact) => (fact.includes('s3cret') ? hide(fact) : fact));
  expect(JSON.stringify(granted)).not.toContain('s3cret');
  expect(parseGranted(JSON.stringify(granted))).toEqual(granted);
  const containers = [container('web', { Mounts: [bind('/s3cret', '/a')], networks: [] })];
  expect(differencesOf(granted, { containers, volumes, networks: [], isPodman: false }, { dir, hide })).toEqual([]);
});

it.each(['', '{}', 'null', '{"schema":1,"services":{"web":{}},"networks":{},"volumes":{}}'])(
  'takes %j for nothing granted',
  (text) => {
    expect(parseGranted(text)).toBeNull();
  },
);
