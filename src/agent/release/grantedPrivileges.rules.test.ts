import { grantedPrivilegesOf, hideSecrets, parseGrantedPrivileges } from './grantedPrivileges.rules.ts';

const dir = `/releases/${'a'.repeat(64)}`;
const project = {
  name: 'p',
  networks: { default: { name: 'p_default' }, named: { name: 'q' } },
  volumes: { data: { name: 'named' }, other: null },
};
const grantsOf = (web: object, more: object = {}) =>
  grantedPrivilegesOf({ ...project, services: { web, db: {} }, ...more }, dir).services['web'];

it.each<[object, string[]]>([
  [{}, []],
  [{ privileged: true }, ['privileged', 'security label=disable']],
  [{ privileged: 'true' }, ['privileged']],
  [{ privileged: false, oom_kill_disable: false, oom_score_adj: 0, security_opt: null }, []],
  [{ cap_add: ['CAP_KILL', 'all'] }, ['capability KILL', 'capability ALL']],
  [{ devices: ['/dev/a', '/dev/a:/dev/b:r'] }, ['device /dev/a:/dev/a:rwm', 'device /dev/a:/dev/b:r']],
  [{ devices: [{ source: '/dev/a', target: '/dev/b', permissions: 'r' }] }, ['device /dev/a:/dev/b:r']],
  [{ devices: [{ source: '/dev/a' }] }, ['device /dev/a:/dev/a:rwm']],
  [{ devices: ['vendor/class=x', {}] }, ['device request', 'device request']],
  [{ gpus: 'all' }, ['device request']],
  [{ gpus: [{}] }, ['device request']],
  [{ gpus: [{}], deploy: { resources: { reservations: { devices: [{}] } } } }, ['device request']],
  [{ deploy: { resources: { reservations: { devices: [{}] } } } }, ['device request']],
  [{ deploy: { resources: { reservations: { devices: [] } } }, gpus: [] }, []],
  [{ device_cgroup_rules: ['c 1:3 r'], group_add: [0, 'disk'] }, ['device rule c 1:3 r', 'group 0', 'group disk']],
  [{ security_opt: ['label:user:x'], sysctls: { 'net.x': 1 } }, ['security label=user:x', 'sysctl net.x=1']],
  [{ pid: 'host' }, ['security label=disable', 'pid host']],
  [
    { ipc: 'host', uts: 'host', userns_mode: 'host' },
    ['security label=disable', 'ipc host', 'uts host', 'userns host'],
  ],
  [{ pid: 'service:db', ipc: 'container:x' }, ['pid service db', 'ipc container']],
  [{ pid: 'hosts', ipc: 'my-host', uts: 'my-container:x' }, []],
  [
    { external_links: ['x'], oom_kill_disable: true, oom_score_adj: -5 },
    ['link *', 'oom_kill_disable', 'oom_score_adj -5'],
  ],
  [{ external_links: [], oom_score_adj: 5, cgroup_parent: '/x$$y' }, ['cgroup_parent /x$y']],
  [{ network_mode: 'none', networks: { default: null } }, []],
  [{ network_mode: 'host' }, ['network host']],
  [{ network_mode: 'service:db' }, ['network service db']],
  [{ network_mode: 'container:x' }, ['network container']],
  [{ network_mode: 'my-container:x' }, ['network my-container:x']],
  [{ network_mode: 'default' }, ['network default', 'network bridge', 'network podman']],
  [{ network_mode: 'bridge' }, ['network bridge', 'network bridge', 'network podman']],
  [{ network_mode: 'bridge2' }, ['network bridge2']],
  [{ network_mode: 'my-bridge' }, ['network my-bridge']],
  [{ use_api_socket: true }, ['mount /var/run/docker.sock bind /var/run/docker.sock', 'write /var/run/docker.sock']],
  [
    {
      volumes: [
        { type: 'tmpfs', source: '/a', target: '/x' },
        { type: 'volume', target: '/y' },
      ],
    },
    [],
  ],
  [{ volumes_from: ['container:x'], volumes: [{ type: 'bind', source: '/a', target: '/x' }] }, ['mount *']],
])('grants the service %j at most %j', (web, may) => {
  expect(grantsOf(web)).toEqual({ may, must: [] });
});

it.each<[object, string[]]>([
  [{ cap_drop: ['CAP_KILL', 'all'] }, ['without KILL', 'without ALL']],
  [{ security_opt: ['no-new-privileges:true'] }, ['no-new-privileges']],
  [{ security_opt: ['no-new-privileges:false'] }, []],
  [{ cgroup: 'private', runtime: 'kata' }, ['cgroup private', 'runtime kata']],
  [{ cgroup: 'host' }, []],
  [{ networks: { default: null, named: {}, added: null } }, ['network p_default', 'network q', 'network p_added']],
])('requires %j as %j', (web, must) => {
  expect(grantsOf(web)?.must).toEqual(must);
});

it.each<[object, string, string[]]>([
  [{ type: 'bind', source: '/a/./b//../c/' }, 'bind /a/c', ['write /x', 'propagation /x rslave']],
  [{ type: 'bind', source: '/../a', read_only: true }, 'bind /a', ['propagation /x rslave']],
  [{ type: 'bind', source: '/a', bind: { propagation: 'private' } }, 'bind /a', ['write /x', 'propagation /x rslave']],
  [{ type: 'bind', source: '/a', bind: { propagation: 'rprivate' } }, 'bind /a', ['write /x', 'propagation /x rslave']],
  [{ type: 'bind', source: '/a', bind: { propagation: 'shared' } }, 'bind /a', ['write /x', 'propagation /x shared']],
  [{ type: 'bind', source: `${dir}/c` }, 'bind ./c', ['write /x']],
  [{ type: 'bind', source: dir }, 'bind ./', ['write /x']],
  [{ type: 'bind', source: `${dir}2/c` }, `bind ${dir}2/c`, ['write /x', 'propagation /x rslave']],
  [{ type: 'bind', source: 'a/../b' }, 'bind a/../b', ['write /x', 'propagation /x rslave']],
  [{ type: 'volume', source: 'data' }, 'volume named', ['write /x']],
  [{ type: 'volume', source: 'other' }, 'volume p_other', ['write /x']],
])('grants and requires the mount %j as %s', (mount, typeAndSource, more) => {
  const fact = `mount /x ${typeAndSource}`;
  expect(grantsOf({ volumes: [{ target: '/x/', ...mount }] })).toEqual({ may: [fact, ...more], must: [fact] });
});

it('requires that a part of a volume is mounted, not the whole', () => {
  const part = { type: 'volume', source: 'data', target: '/x/', volume: { subpath: 'a/b' } };
  expect(grantsOf({ volumes: [part] })?.must).toEqual(['mount /x volume named', 'subpath /x a/b']);
  const inherited = grantsOf(
    { volumes_from: ['db'] },
    { services: { web: { volumes_from: ['db'] }, db: { volumes: [part] } } },
  );
  expect(inherited?.must).toEqual([]);
});

it('requires that networks and volumes with other names belong to the project', () => {
  const web = { networks: { named: null, default: null }, volumes: [{ type: 'volume', source: 'data', target: '/x' }] };
  const volumes = { ...project.volumes, spare: { name: 'spare' } };
  const model = { ...project, volumes, services: { web, db: { volumes_from: ['web'] } } };
  const none = { containers: new Set<string>(), networks: new Set<string>(), volumes: new Set<string>() };
  const required = ['mount /x volume named', 'network q', 'network p_default'];
  const own = ['volume of the project named', 'network of the project q'];
  expect(new Set(grantedPrivilegesOf(model, dir, none).services['web']?.must)).toEqual(new Set([...required, ...own]));
  expect(grantedPrivilegesOf(model, dir, none).services['db']?.must).toEqual([]);
  expect(grantedPrivilegesOf(model, dir).services['web']?.must).toEqual(required);
});

describe('grants a service the mounts of volumes_from', () => {
  const bind = (target: string) => ({ type: 'bind', source: '/s', target });
  const grants = (web: object, db: object, cache: object = {}) => grantsOf(web, { services: { web, db, cache } });

  it("except at the service's own targets", () => {
    const web = { volumes_from: ['db:ro'], volumes: [{ type: 'volume', target: '/two' }] };
    const granted = { may: ['mount /one bind /s', 'propagation /one rslave'], must: [] };
    expect(grants(web, { volumes: [bind('/one'), bind('/two')] })).toEqual(granted);
  });

  it('which are writable as in the other service, also in a cycle', () => {
    const granted = { may: ['mount /one bind /s', 'write /one', 'propagation /one rslave'], must: [] };
    const db = { volumes: [bind('/one')], volumes_from: ['cache', 'web'] };
    expect(grants({ volumes_from: ['db'] }, db, { volumes_from: ['web:ro', 'db'] })).toEqual(granted);
  });

  it('or any mount, if a container outside the project has them', () => {
    expect(grants({ volumes_from: ['db'] }, { volumes_from: ['container:x'] })).toEqual({ may: ['mount *'], must: [] });
  });
});

it('grants a service its configs and secrets', () => {
  const root = { c: { file: `${dir}/c` }, d: { file: '/etc/d' }, content: { content: 'x' } };
  const web = {
    configs: ['c', { source: 'd', target: '/etc//d' }, { source: 'c', target: 'e/f' }, 'content', { source: 'absent' }],
    secrets: ['c', { source: 'c', target: 'named' }, { source: 'd', target: '/etc/s' }],
  };
  expect(grantsOf(web, { configs: root, secrets: root })).toEqual({
    may: [
      'mount /c bind ./c',
      'mount /etc/d bind /etc/d',
      'mount /e/f bind ./c',
      'mount /run/secrets/c bind ./c',
      'mount /run/secrets/named bind ./c',
      'mount /etc/s bind /etc/d',
    ],
    must: [],
  });
});

it('grants networks and volumes their driver and options, and external ones anything', () => {
  const options = { driver: 'd', driver_opts: { o: 'x', mtu: 1500, ipv6: true } };
  const facts = ['driver d', 'option o=x', 'option mtu=1500', 'option ipv6=true'];
  const networks = { plain: null, inner: { internal: true }, full: options, theirs: { external: true, name: 't' } };
  const volumes = { plain: null, full: options, theirs: { external: true, name: 't' } };
  expect(grantedPrivilegesOf({ name: 'p', networks, volumes }, dir)).toEqual({
    schema: 1,
    services: {},
    networks: {
      p_plain: { may: ['driver bridge', 'outside'], must: [] },
      p_inner: { may: ['driver bridge'], must: [] },
      p_full: { may: [...facts, 'outside'], must: [] },
      t: null,
    },
    volumes: { p_plain: { may: ['driver local'], must: [] }, p_full: { may: facts, must: [] }, t: null },
    definitions: {
      p_plain: ['driver bridge'],
      p_inner: ['driver bridge', 'internal'],
      p_full: ['driver d', 'option o=x', 'option mtu=1500', 'option ipv6=true'],
    },
  });
  expect(grantedPrivilegesOf(null, dir)).toEqual({
    schema: 1,
    services: {},
    networks: {},
    volumes: {},
    definitions: {},
  });
});

describe('stored grants', () => {
  const allowance = { may: ['a'], must: ['b'] };
  const granted = { schema: 1, services: { s: allowance }, networks: { n: allowance, t: null }, volumes: { v: null } };

  it('hide secrets in facts and in names of networks and volumes', () => {
    const hidden = { may: ['a!'], must: ['b!'] };
    expect(hideSecrets(parseGrantedPrivileges(JSON.stringify(granted))!, (text) => `${text}!`)).toEqual({
      schema: 1,
      services: { s: hidden },
      networks: { 'n!': hidden, 't!': null },
      volumes: { 'v!': null },
    });
  });

  it.each<object | null>([
    null,
    {},
    { ...granted, schema: 2 },
    { ...granted, services: { s: allowance, web: {} } },
    { ...granted, services: { s: { may: [] } } },
    { ...granted, services: { s: { may: 'a', must: [] } } },
    { ...granted, services: { s: { may: [1, 'a'], must: [] } } },
    { ...granted, services: { s: null } },
    { ...granted, networks: { n: { must: [] } } },
    { ...granted, volumes: { v: [] } },
  ])('are not parsed from %j', (value) => {
    expect(parseGrantedPrivileges(JSON.stringify(value))).toBeNull();
    expect(parseGrantedPrivileges('')).toBeNull();
  });
});
