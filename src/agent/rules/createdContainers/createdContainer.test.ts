import {
  anonymousVolumesOf,
  containerFactsOf,
  containerName,
  isAnonymousVolume,
  replicaSlotOf,
  resourceFactsOf,
  serviceOf,
  type CreatedContainer,
  type CreatedMount,
} from './createdContainer.ts';

const [a, b] = ['a', 'b'].map((letter) => letter.repeat(64)) as [string, string];
const labels = { 'com.docker.compose.service': 'web', 'com.docker.compose.container-number': '2' };
const web: CreatedContainer = {
  ...{ Id: 'id-web', Name: '/p-web-2', Image: 'sha256:1', State: { Status: 'running' }, Config: { Labels: labels } },
  ...{ HostConfig: {}, Mounts: null, NetworkSettings: { Networks: null } },
};
const db = { ...web, Id: 'id-db', Name: '/p-db-1', Config: { Labels: { 'com.docker.compose.service': 'db' } } };
const volumes = [
  { name: a, driver: 'local', options: {}, isOwn: false },
  { name: b, driver: 'local', options: { o: 'bind' }, isOwn: false },
  { name: 'c'.repeat(64), driver: 'nfs', options: {}, isOwn: false },
  ...['data', `x${a}`, `${a}x`].map((name) => ({ name, driver: 'local', options: {}, isOwn: false })),
];
const dir = `/var/lib/deployd/releases/${a}`;
const created = { containers: [web, db], volumes, networks: [], isPodman: false };

const factsOf = (part: Partial<CreatedContainer>, isPodman = false) =>
  containerFactsOf({ ...web, ...part }, { ...created, isPodman }, dir);
const mount = (Type: string, Source: string, more: Partial<CreatedMount> = {}): CreatedMount => {
  return { Type, Source, Destination: '/x', RW: false, Propagation: 'rprivate', ...more };
};

describe('the facts of a container', () => {
  it('are its runtime without anything else', () => {
    expect(factsOf({})).toEqual(['runtime ']);
  });

  it.each<[string, CreatedMount, string[]]>([
    ['a tmpfs', mount('tmpfs', ''), []],
    ['an anonymous volume', mount('volume', '/v', { Name: a, RW: true }), []],
    ['a volume', mount('volume', '/v/', { Name: 'data', Propagation: 'x' }), ['mount /x volume data']],
    ['a volume without a name', mount('npipe', `${dir}/`), [`mount /x npipe ${dir}/`]],
    ['a bind', mount('bind', '/etc', { Name: 'n' }), ['mount /x bind /etc']],
    ['a writable bind', mount('bind', '/etc', { RW: true }), ['mount /x bind /etc', 'write /x']],
    ['trailing slashes', mount('bind', '/a//b//', { Destination: '/x//' }), ['mount /x bind /a//b']],
    ['the root', mount('bind', '/', { Destination: '/' }), ['mount / bind /']],
    ['private propagation', mount('bind', '/etc', { Propagation: 'private' }), ['mount /x bind /etc']],
    ['no propagation', { Type: 'bind', Source: '/a', Destination: '/x', RW: false }, ['mount /x bind /a']],
    ['propagation', mount('bind', '/a', { Propagation: 'shared' }), ['mount /x bind /a', 'propagation /x shared']],
    ['a file of a release', mount('bind', `/var/lib/deployd/releases/${b}/c/d`), ['mount /x bind ./c/d']],
    ['a whole release', mount('bind', dir), ['mount /x bind ./']],
    ['a file with a newline', mount('bind', `${dir}/c\nd`), ['mount /x bind ./c\nd']],
    ['a file beside a release', mount('bind', `${dir}x/c`), [`mount /x bind ${dir}x/c`]],
    [
      'a file before a release',
      mount('bind', `/var/lib/deployd/releases/x${a}/c`),
      [`mount /x bind /var/lib/deployd/releases/x${a}/c`],
    ],
    ['a file elsewhere', mount('bind', `/srv/${a}/c`), [`mount /x bind /srv/${a}/c`]],
    ['a relative file', mount('bind', `${a}/c`), [`mount /x bind ${a}/c`]],
  ])('say of a mount with %s', (_title, each, facts) => {
    expect(factsOf({ Mounts: [each] })).toEqual([...facts, 'runtime ']);
  });

  it.each<[CreatedContainer['HostConfig'], string[]]>([
    [{ Privileged: true, MaskedPaths: [] }, ['privileged']],
    [{ Privileged: false, MaskedPaths: [] }, ['security systempaths=unconfined']],
    [{ MaskedPaths: ['/proc/kcore'] }, []],
    [{ CapAdd: ['CAP_KILL', 'chown'], CapDrop: ['all'] }, ['capability KILL', 'capability CHOWN', 'without ALL']],
    [
      { Devices: [{ PathOnHost: '/dev/a', PathInContainer: '/dev/b', CgroupPermissions: '' }] },
      ['device /dev/a:/dev/b:rwm'],
    ],
    [{ DeviceRequests: [] }, []],
    [{ Mounts: [{ Target: '/x//', VolumeOptions: { Subpath: 'a/b' } }] }, ['subpath /x a/b']],
    [{ Mounts: [{ Target: '/x', VolumeOptions: {} }, { Target: '/y' }] }, []],
    [{ DeviceRequests: [{}, {}], DeviceCgroupRules: ['c 1:3 r'] }, ['device request', 'device rule c 1:3 r']],
    [{ SecurityOpt: ['no-new-privileges', 'label:user:x'] }, ['no-new-privileges', 'security label=user:x']],
    [
      { SecurityOpt: ['label=user:x', 'label=disable', 'apparmor=x'], PidMode: 'container:id-db' },
      ['security label=disable', 'security apparmor=x', 'pid service db'],
    ],
    [{ SecurityOpt: ['label=user:x', 'my-label=x'], IpcMode: 'container:z' }, ['security my-label=x', 'ipc container']],
    [{ SecurityOpt: ['label=user:x'], IpcMode: 'my-container:z' }, ['security label=user:x']],
    [{ GroupAdd: ['0', 'disk'], Sysctls: { 'net.x': '1' } }, ['group 0', 'group disk', 'sysctl net.x=1']],
    [
      { PidMode: 'host', IpcMode: 'host', UTSMode: 'host', UsernsMode: 'host' },
      ['pid host', 'ipc host', 'uts host', 'userns host'],
    ],
    [{ PidMode: 'ns:/proc/1/ns/pid', IpcMode: 'shareable', UTSMode: '', UsernsMode: 'hosts' }, ['pid ns']],
    [{ PidMode: 'container:p-db-1', IpcMode: 'my-host', UTSMode: 'x:container:y' }, ['pid service db']],
    [{ CgroupnsMode: 'private' }, ['cgroup private']],
    [{ CgroupnsMode: 'host' }, []],
    [{ NetworkMode: 'host' }, ['network host']],
    [{ NetworkMode: 'container:id-db' }, ['network service db']],
    [{ NetworkMode: 'container:p-db-1' }, ['network service db']],
    [{ NetworkMode: 'container:other' }, ['network container']],
    [{ NetworkMode: 'my-container:id-db' }, []],
    [{ Links: ['/other:/p-web-2/alias', 'third/x', '/p-db-1:/p-web-2/db'] }, ['link other', 'link third/x']],
    [{ OomKillDisable: true, OomScoreAdj: -1 }, ['runtime ', 'oom_kill_disable', 'oom_score_adj -1']],
    [{ OomKillDisable: false, OomScoreAdj: 0 }, []],
    [{ OomScoreAdj: 5, CgroupParent: '' }, []],
    [{ Runtime: 'kata', CgroupParent: '/x' }, ['runtime kata', 'cgroup_parent /x']],
  ])('say of the options %j', (HostConfig, facts) => {
    const runtime = facts.some((fact) => fact.startsWith('runtime ')) ? [] : ['runtime '];
    expect(factsOf({ HostConfig })).toEqual([...facts, ...runtime]);
  });

  it('say nothing of the cgroup parent that Podman always reports', () => {
    expect(factsOf({ HostConfig: { CgroupParent: '/x' } }, true)).toEqual(['runtime ']);
  });

  it('name its networks but `none`, and links in them to containers outside the project', () => {
    const Networks = { none: null, p_default: { Links: ['other:alias', 'p-db-1:db'] }, q: { Links: null }, r: {} };
    const facts = ['network p_default', 'network q', 'network r', 'link other', 'runtime '];
    expect(factsOf({ NetworkSettings: { Networks } })).toEqual(facts);
    expect(factsOf({ NetworkSettings: { Networks }, HostConfig: { NetworkMode: 'p_default' } })).toEqual(facts);
  });
});

it.each<[string, object, string[]]>([
  ['a volume', {}, ['driver local']],
  ['a network', { internal: false }, ['driver local', 'outside']],
  ['an internal network', { internal: true }, ['driver local']],
  ['options', { options: { o: 'bind', type: 'none' } }, ['driver local', 'option o=bind', 'option type=none']],
])('the facts of a resource name %s', (_title, part, facts) => {
  expect(resourceFactsOf({ name: 'x', driver: 'local', options: {}, ...part })).toEqual(facts);
});

it('a container is named without its slash, and belongs to a slot of its service', () => {
  const foreign = { ...web, Name: 'x/y', Config: { Labels: null } };
  const unlabelled = { ...web, Config: { Labels: {} } };
  expect([web, foreign].map(containerName)).toEqual(['p-web-2', 'x/y']);
  expect([web, foreign, unlabelled].map(serviceOf)).toEqual(['web', '', '']);
  expect([web, db, foreign].map(replicaSlotOf)).toEqual(['web 2', 'db ', ' ']);
});

it.each([
  [mount('volume', '/v', { Name: a }), true],
  [mount('bind', '/v', { Name: a }), false],
  [mount('volume', '/v', { Name: b }), false],
  [mount('volume', '/v', { Name: 'c'.repeat(64) }), false],
  [mount('volume', '/v', { Name: 'd'.repeat(64) }), false],
  ...['data', `x${a}`, `${a}x`].map((Name): [CreatedMount, boolean] => [mount('volume', '/v', { Name }), false]),
  [mount('volume', '/v'), false],
])('%j is an anonymous volume: %j', (each, expected) => {
  expect(isAnonymousVolume(each, volumes)).toBe(expected);
  const own = anonymousVolumesOf({ ...web, Mounts: [each] }, volumes);
  expect(own).toEqual(expected ? [{ name: a, target: '/x' }] : []);
});

it('a container without mounts has no anonymous volumes', () => {
  expect(anonymousVolumesOf(web, volumes)).toEqual([]);
});
