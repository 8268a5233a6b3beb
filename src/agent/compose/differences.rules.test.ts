import type { CreatedContainer, CreatedResources } from '../engine/createdContainer.rules.ts';
import { grantedPrivilegesOf, hideSecrets, parseGrantedPrivileges } from '../release/grantedPrivileges.rules.ts';
import { compareWithModel, formatDifferences } from './differences.rules.ts';

const [dir, previousDir] = ['a', 'b'].map((letter) => `/releases/${letter.repeat(64)}`) as [string, string];
const anonymous = 'a'.repeat(64);
const project = { name: 'p', networks: { default: { name: 'p_default' } }, volumes: { data: { name: 'p_data' } } };
const id = { web: '1'.repeat(64), db: '2'.repeat(64) };

type Parts = { HostConfig?: object; Mounts?: object[]; networks?: string[] };

function container(
  service: keyof typeof id,
  { HostConfig = {}, Mounts = [], networks = ['p_default'] }: Parts,
): CreatedContainer {
  return {
    Id: id[service],
    Name: `/p-${service}-1`,
    Image: '',
    State: { Status: 'created' },
    Config: { Labels: { 'com.docker.compose.service': service } },
    HostConfig,
    Mounts: Mounts as CreatedContainer['Mounts'],
    NetworkSettings: { Networks: Object.fromEntries(networks.map((name) => [name, {}])) },
  };
}

const volumes = [
  { name: anonymous, driver: 'local', options: {}, isOwn: false },
  { name: 'p_data', driver: 'local', options: {}, isOwn: false },
];
const network = {
  id: 'n',
  name: 'p_default',
  driver: 'bridge',
  options: {},
  internal: false,
};

/** The differences between the model of a service `web` and its created container. */
function differencesFor(service: object, parts: Parts, more: Partial<CreatedResources> = {}): string {
  const model = { ...project, services: { web: { networks: { default: null }, ...service }, db: {} } };
  const containers = [container('web', parts), container('db', { networks: [] })];
  const created = { containers, volumes, networks: [network], isPodman: false, ...more };
  return formatDifferences(
    compareWithModel(grantedPrivilegesOf(model, dir), created, { dir, hide: (fact) => `hidden ${fact.length}` }),
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
  ['an anonymous volume of its image', {}, { Mounts: [volume(anonymous, '/x')] }],
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
    'an unchanged file of the previous release',
    { volumes: [{ type: 'bind', source: `${dir}/c`, target: '/c' }] },
    { Mounts: [bind(`${previousDir}/c`, '/c')] },
  ],
  [
    'a bind with a dollar sign',
    { volumes: [{ type: 'bind', source: '/a$$b', target: '/c' }] },
    { Mounts: [bind('/a$b', '/c')] },
  ],
  [
    'a bind above the data directory of the engine',
    { volumes: [{ type: 'bind', source: '/', target: '/c' }] },
    { Mounts: [bind('/', '/c', { Propagation: 'rslave' })] },
  ],
  [
    'a tmpfs',
    { volumes: [{ type: 'tmpfs', target: '/t' }] },
    { Mounts: [{ Type: 'tmpfs', Source: '', Destination: '/t', RW: true }] },
  ],
  ['a capability in another spelling', { cap_add: ['cap_net_admin'] }, { HostConfig: { CapAdd: ['NET_ADMIN'] } }],
  [
    'the options that privileged implies',
    { privileged: true },
    { HostConfig: { Privileged: true, SecurityOpt: ['label=disable'] } },
  ],
  [
    'a device in the short form',
    { devices: ['/dev/null'] },
    { HostConfig: { Devices: [{ PathOnHost: '/dev/null', PathInContainer: '/dev/null', CgroupPermissions: 'rwm' }] } },
  ],
  [
    'a device in the long form',
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
  ['dropped capabilities', { cap_drop: ['ALL'] }, { HostConfig: { CapDrop: ['ALL'] } }],
  [
    'restrictions outside the model',
    {},
    { HostConfig: { CapDrop: ['KILL'], IpcMode: 'private', CgroupnsMode: 'private', Runtime: 'runc' } },
  ],
])('reports no difference for %s', (_title, service, parts) => {
  expect(differencesFor(service, parts)).toBe('');
});

it.each<[string, object, Parts, string]>([
  [
    'a bind of the previous container',
    { volumes: [{ type: 'volume', target: '/x' }] },
    { Mounts: [bind('/etc', '/x')] },
    'has mount /x bind /etc; service web: has write /x',
  ],
  [
    'a volume of the previous container',
    { volumes: [{ type: 'volume', target: '/x' }] },
    { Mounts: [volume('p_data', '/x')] },
    'has mount /x volume p_data; service web: has write /x',
  ],
  [
    'a volume with the name of an anonymous one',
    {},
    { Mounts: [volume('b'.repeat(64), '/x')] },
    `has mount /x volume ${'b'.repeat(64)}; service web: has write /x`,
  ],
  [
    'a writable bind',
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
  ['a missing bind', { volumes: [{ type: 'bind', source: '/a', target: '/a' }] }, {}, 'lacks mount /a bind /a'],
  ['privileged mode', {}, { HostConfig: { Privileged: true } }, 'has privileged'],
  ['a capability', { cap_add: ['KILL'] }, { HostConfig: { CapAdd: ['CAP_SYS_ADMIN'] } }, 'has capability SYS_ADMIN'],
  ['capabilities that should be dropped', { cap_drop: ['ALL'] }, {}, 'lacks without ALL'],
  ['new privileges', { security_opt: ['no-new-privileges:true'] }, {}, 'lacks no-new-privileges'],
  ['no seccomp', {}, { HostConfig: { SecurityOpt: ['seccomp=unconfined'] } }, 'has security seccomp=unconfined'],
  ['an unmasked /proc', {}, { HostConfig: { MaskedPaths: [] } }, 'has security systempaths=unconfined'],
  [
    'a device',
    {},
    { HostConfig: { Devices: [{ PathOnHost: '/dev/sda', PathInContainer: '/d', CgroupPermissions: 'rwm' }] } },
    'has device /dev/sda:/d:rwm',
  ],
  ['a device request', {}, { HostConfig: { DeviceRequests: [{}] } }, 'has device request'],
  ['a device rule', {}, { HostConfig: { DeviceCgroupRules: ['a *:* rwm'] } }, 'has device rule a *:* rwm'],
  ['a group', {}, { HostConfig: { GroupAdd: ['0'] } }, 'has group 0'],
  ['a sysctl', {}, { HostConfig: { Sysctls: { 'kernel.x': '1', 'net.x': '1' } } }, 'has sysctl kernel.x=1'],
  ['another runtime', { runtime: 'runc' }, { HostConfig: { Runtime: 'kata' } }, 'lacks runtime runc'],
  ['the PID namespace of the host', {}, { HostConfig: { PidMode: 'host' } }, 'has pid host'],
  ['the IPC namespace of another service', {}, { HostConfig: { IpcMode: `container:${id.db}` } }, 'has ipc service db'],
  ['the UTS namespace of the host', {}, { HostConfig: { UTSMode: 'host' } }, 'has uts host'],
  ['the user namespace of the host', {}, { HostConfig: { UsernsMode: 'host' } }, 'has userns host'],
  [
    'the network of the host',
    {},
    { HostConfig: { NetworkMode: 'host' } },
    'has network host; service web: lacks network p_default',
  ],
  ['a network outside the project', {}, { networks: ['p_default', 'q'] }, 'has network q'],
  [
    'a link to a container outside the project',
    {},
    { HostConfig: { Links: ['/other:/p-web-1/alias', '/p-db-1:/p-web-1/db'] } },
    'has link other',
  ],
  ['a cgroup parent', {}, { HostConfig: { CgroupParent: '/system' } }, 'has cgroup_parent /system'],
  [
    'protection from the OOM killer',
    {},
    { HostConfig: { OomKillDisable: true, OomScoreAdj: -5 } },
    'has oom_kill_disable; service web: has oom_score_adj -5',
  ],
])('reports a service that has %s', (_title, service, parts, expected) => {
  expect(differencesFor(service, parts)).toBe(`service web: ${expected}`);
});

it.each<[string, Partial<CreatedResources>, string]>([
  ['driver', { networks: [{ ...network, driver: 'macvlan' }] }, 'network p_default: has driver macvlan'],
  [
    'option',
    { networks: [{ ...network, options: { parent: 'eth0', 'com.docker.network.driver.mtu': '1' } }] },
    'network p_default: has option parent=eth0',
  ],
  [
    'volume option',
    {
      volumes: [
        ...volumes.slice(0, 1),
        { name: 'p_data', driver: 'local', options: { o: 'bind', size: '1' }, isOwn: false },
      ],
    },
    'volume p_data: has option o=bind',
  ],
])('reports a network or volume with another %s', (_title, created, expected) => {
  expect(differencesFor({}, {}, created)).toBe(expected);
});

it('compares hidden facts, and parses the grants that it stored', () => {
  const model = {
    ...project,
    services: { web: { volumes: [{ type: 'bind', source: '/s3cret', target: '/a' }] }, db: {} },
  };
  const hide = (fact: string) => `hidden ${fact.length}`;
  const granted = hideSecrets(grantedPrivilegesOf(model, dir), (fact) => (fact.includes('s3cret') ? hide(fact) : fact));
  expect(JSON.stringify(granted)).not.toContain('s3cret');
  expect(parseGrantedPrivileges(JSON.stringify(granted))).toEqual(granted);
  const containers = [container('web', { Mounts: [bind('/s3cret', '/a')], networks: [] })];
  expect(compareWithModel(granted, { containers, volumes, networks: [], isPodman: false }, { dir, hide })).toEqual([]);
});
