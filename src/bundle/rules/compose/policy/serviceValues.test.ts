import { refusalsOf } from '../../../../../fixtures/corpus/bundleRefusals.ts';
import { printable } from '../../../../protocol/printable.ts';

/** A value under a key path; `[]` after a key makes it an item of a list. */
function nested(path: string, value: unknown): unknown {
  return path
    .split('.')
    .reduceRight((inner, key) => (key.endsWith('[]') ? { [key.slice(0, -2)]: [inner] } : { [key]: inner }), value);
}

/** The findings of the policy for a bundle with one service for each value. */
async function findingsOf(path: string, values: readonly unknown[]) {
  const services = Object.fromEntries(values.map((value, at) => [`s${at}`, nested(path, value)]));
  const compose = JSON.stringify({ services: { ...services, other: {} }, networks: { n: null } });
  const refusals = await refusalsOf({ compose });
  const ofPolicy = refusals.filter(({ code }) => code !== 'ENV_INCOMPLETE');
  return ofPolicy.flatMap(({ code, detail }) => detail.split('; ').map((finding) => `${code}: ${finding}`));
}

/** One finding for each service: its key with the message. */
const findings = (code: string, path: string, messages: readonly string[]) =>
  messages.map((message, at) => {
    const details = [path.replaceAll('[]', ''), message].filter((part) => part !== '').map(printable);
    return `${code}: service s${at}: ${details.join(' ')} (compose.yaml:1)`;
  });
const privileges = (path: string, messages: readonly string[]) => findings('PRIVILEGED_REFUSED', path, messages);
const faults = (path: string, messages: readonly string[]) => findings('COMPOSE_REFUSED', path, messages);

describe('values of a service that are privileges on the host (spec §12)', () => {
  it.each<[string, string[], string[]]>([
    ['annotations[]', ['a=b'], []],
    ['blkio_config.weight_device[]', ['a'], []],
    ['cap_add[]', ['SYS_ADMIN', 'XCHOWN', 'CHOWNX'], ['CHOWN', 'cap_chown']],
    ['cgroup', ['host', 'xprivate', 'privatex'], ['private']],
    ['deploy.resources.reservations.devices[]', ['a'], []],
    ['group_add[]', ['0', '999', '01000', '10000000000', 'root', 'docker', 'a!', '!a'], ['1000', 'roots', '_a-1']],
    ['ipc', ['host', 'xnone', 'nonex', 'service:', 'service:a b'], ['none', 'shareable', 'service:other']],
    ['logging.driver', ['syslog', 'xlocal', 'localx'], ['json-file', 'local', 'journald', 'none']],
    ['network_mode', ['bridge', 'nonex', 'xnone', 'service:', 'service:a b'], ['none', 'service:other']],
    ['networks.n.link_local_ips[]', ['169.254.1.1'], []],
    ['oom_kill_disable', ['true', 'xno', 'nox', 'falsex'], ['false', 'no', 'OFF', 'n']],
    ['oom_score_adj', ['-1', 'x1', '1x', '++1', ''], ['0', '15', '+500']],
    ['pid', ['host', 'xservice:a', 'service:', 'service:a b', 'service:a:b'], ['service:other']],
    ['post_start[].privileged', ['true'], ['false']],
    ['runtime', ['nvidia', 'xrunc', 'runcx'], ['', 'runc']],
    ['security_opt[]', ['a', 'xno-new-privileges', 'no-new-privilegesx', 'no-new-privileges=false'], []],
    ['security_opt[]', [], ['no-new-privileges', 'no-new-privileges:true', 'no-new-privileges=true']],
    [
      'user',
      ['1:0x', '1:x!', '1:999', '1:10000000000', '1:docker', 'a:b:c'],
      ['0:0', '1:1000', '1:root', '1:dockers', '1:_a.b-c'],
    ],
    ['volumes_from[]', ['container:a', 'other:x', 'other:rox', 'a b', ':ro'], ['other', 'other:ro', 'other:rw']],
  ])('%s: %j, but not %j', async (path, refused, allowed) => {
    expect(await findingsOf(path, refused)).toEqual(privileges(path, refused));
    expect(await findingsOf(path, allowed)).toEqual([]);
  });

  it.each([
    ['sysctls', ['kernel.a', 'xnet.a', 'net.', 'net.a b'], ['net.a', 'net.core.somaxconn']],
    ['ulimits', ['nice', 'xcore', 'corex'], ['core', 'memlock', 'nofile']],
    ['logging.options', ['syslog-address', 'xtag', 'tagx'], ['tag', 'max-size', 'labels-regex']],
  ])('%s: the names %j, but not %j', async (path, refused, allowed) => {
    const [asItem, asKey] = [(name: string) => [`${name}=1`], (name: string) => ({ [name]: 1 })];
    expect(await findingsOf(path, refused.map(asItem))).toEqual(privileges(path, refused));
    expect(await findingsOf(path, refused.map(asKey))).toEqual(privileges(path, refused));
    expect(await findingsOf(path, [...allowed.map(asItem), ...allowed.map(asKey)])).toEqual([]);
    expect(
      await findingsOf(
        path,
        allowed.map((name) => [name]),
      ),
    ).toEqual(privileges(path, allowed));
  });

  it('are all items and keys, but no empty list or mapping', async () => {
    expect(await findingsOf('devices', ['a', ['b'], { c: 1 }])).toEqual(privileges('devices', ['a', 'b', '']));
    expect(await findingsOf('devices', [[], {}, [[], {}]])).toEqual([]);
  });

  it('are variables, whatever their default', async () => {
    const decided = ['${V:-service:other} is decided by a variable'];
    expect(await findingsOf('pid', ['${V:-service:other}'])).toEqual(privileges('pid', decided));
    expect(await findingsOf('user', ['${V:-service:other}'])).toEqual(privileges('user', decided));
  });
});

describe('values of a service that are refused with any flags (spec §12)', () => {
  it.each<[string, string, string[], string[]]>([
    ['init', 'must be true or false', ['xtrue', 'truex', '1'], ['true', 'no', 'ON', 'y', '${V:-a}']],
    [
      'cpus',
      'must be a number',
      ['x1', '1x', '1..2', '.', '0xg', '0o8', '--1', '_1'],
      ['-1.5', '+1_0.', '.50', '0x1F', '0o17'],
    ],
    ['cpus', 'must be a number', ['0x', '0o', '1.2.3', '.5x'], ['1', '12.25', '.5', '0xff', '0o7', '1_000']],
    [
      'pull_policy',
      'must be always, never, missing, if_not_present, daily, weekly or every_<duration>',
      ['xdaily', 'dailyx', 'every_', 'every_!', 'every_12', 'every_h', 'every_12hx'],
      ['daily', 'every_12h', 'every_1w2d3h4m5s'],
    ],
    [
      'depends_on[]',
      'must be a literal name of letters, digits, ".", "_" and "-"',
      ['a b', '!a', 'a!', '', '${V:-other}'],
      ['other'],
    ],
    [
      'links[]',
      'must be SERVICE or SERVICE:ALIAS',
      ['a b', '!a', 'other:', 'other:b!', 'other:b:c'],
      ['other', 'other:db'],
    ],
    [
      'mem_limit',
      'must be a size',
      ['x1', '1x', '-1g', '--1', '1.5', '1.m', '.5m', '1mi', '1  m', '1mx'],
      ['-1', '1_000', '12.25 m', '1b', '1kib', '10MB'],
    ],
    [
      'stop_grace_period',
      'must be a duration',
      ['5', '5sx', 'x5s', '5.5', '0s0', '--5s', '106751991167d'],
      ['0', '+5s', '1.5s', '.5s', '5.s', '10ms10us', '5m', '300s', '${V:-x}'],
    ],
    ['stop_grace_period', 'would never end', ['-5s'], []],
    [
      'stop_grace_period',
      'is longer than 300s',
      ['301s', '5m1ns', '1h', '1d', '1w', '300001ms', '300000001us', '300000000001ns'],
      [],
    ],
    ['healthcheck.interval', 'must be a duration', ['5', 'x', '9223372036.854775808s'], ['5s', '-5s', '${V:-5}']],
    [
      'ports[]',
      'has a range that must be written out',
      ['${V:-1-2}', '${V}-2', '${V:?a-b}-1:80', '${V}:1-2:1-2${V}'],
      ['1-2', '${V:-80}', '${V:-1}:1-2:1-2', '${V:-1}:1-2:1-2/udp', '${V:?a--b}:80'],
    ],
    ['environment[]', 'must be a literal name', ['', 'a b', 'a$b', '${V:-a}'], ['a=b c', 'a', 'a=$$b']],
    ['labels[]', 'must be a literal name', ['', '${V:-a}', '$$${V:-a}'], ['a', 'a=b', 'a=${V:-b}', 'a$$b=c']],
    [
      'labels[]',
      'belongs to compose or deployd',
      ['com.docker.compose', 'com.docker.compose.x', 'deployd', 'deployd.x'],
      ['com.docker.composer', 'deployd-x', 'xdeployd', 'a=deployd'],
    ],
  ])('%s %s: %j, but not %j', async (path, message, refused, allowed) => {
    expect(await findingsOf(path, refused)).toEqual(
      faults(
        path,
        refused.map((value) => `${value} ${message}`),
      ),
    );
    expect(await findingsOf(path, allowed)).toEqual([]);
  });

  it.each([
    ['extends.file', 'a service extends one of its own file, named without `file`'],
    ['models', 'they run outside the project'],
    ['provider', 'it runs a program of the host as the agent'],
  ])('%s: %s', async (path, why) => {
    const [finding] = await findingsOf(path, ['a']);
    expect(finding).toBe(faults(path, [`is refused: ${why}`])[0]);
  });

  it.each<[string, unknown, string]>([
    ['hostname', [], 'hostname must be text'],
    ['hostname', null, 'hostname must be text'],
    ['dns', {}, 'dns must be text or a list'],
    ['dns', [['a']], 'dns must be text'],
    ['ports', 'a', 'ports must be a list'],
    ['ports', [[]], 'ports must be text or a mapping'],
    ['depends_on', 'other', 'depends_on must be a list or a mapping'],
    ['depends_on', { other: null }, 'depends_on.other must be a mapping'],
    ['depends_on', { 'a b': {} }, 'depends_on a b is no name'],
    ['depends_on', { '': {} }, 'depends_on "" is no name'],
    ['extra_hosts', { '': 'a' }, 'extra_hosts "" is no name'],
    ['healthcheck', [], 'healthcheck must be a mapping'],
    ['healthcheck', { a: 1 }, 'healthcheck.a is not a known key'],
    ['environment', { a: [] }, 'environment.a must be text'],
    ['toString', 1, 'toString is not a known key'],
  ])('%s: %j', async (path, value, message) => {
    expect(await findingsOf(path, [value])).toEqual(faults('', [message]));
  });
});

it('allows every mapping that a service may hold', async () => {
  const duration = {
    delay: '5s',
    monitor: '5s',
    order: 'a',
    failure_action: 'a',
    max_failure_ratio: 1,
    parallelism: 1,
  };
  const service = {
    'x-a': 1,
    blkio_config: { weight: 1, device_read_bps: [], weight_device: [] },
    configs: [{ source: 'c', target: 'a', uid: 'a', gid: 'a', mode: 1 }],
    depends_on: { other: { condition: 'a', restart: true, required: false } },
    deploy: {
      ...{
        endpoint_mode: 'a',
        labels: ['a=b'],
        mode: 'a',
        replicas: 1,
        update_config: duration,
        rollback_config: duration,
      },
      placement: { constraints: ['a'], max_replicas_per_node: 1, preferences: [{ spread: 'a' }] },
      resources: { limits: { cpus: 1, memory: '1m', pids: 1 }, reservations: { cpus: 1, memory: '1m', devices: [] } },
      restart_policy: { condition: 'on-failure', delay: '5s', max_attempts: 1, window: '5s' },
    },
    env_file: ['app.env', { path: 'app.env', required: true, format: 'raw' }],
    extends: { service: 'other' },
    extra_hosts: { a: 'b', c: ['d'] },
    healthcheck: { disable: false, retries: 1, test: ['a'], timeout: '5s', start_period: '5s', start_interval: '5s' },
    networks: { n: { aliases: ['a'], priority: 1, gw_priority: 1, ipv4_address: 'a', driver_opts: {} } },
    ports: [{ app_protocol: 'a', host_ip: 'a', mode: 'a', name: 'a', protocol: 'a', published: 1, target: 1 }],
    post_start: [{ command: 'a', user: 'a', privileged: false, working_dir: '/a', environment: { A: 'b', B: null } }],
    storage_opt: { size: '1m' },
    ulimits: { nofile: { soft: 1, hard: 2 }, core: 1 },
  };
  const parts = { networks: { n: null }, configs: { c: { content: 'a' } } };
  const compose = JSON.stringify({ services: { web: service, other: {} }, ...parts });
  expect(await refusalsOf({ compose, secrets: ['B'] })).toEqual([]);
});
