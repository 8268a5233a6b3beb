import { defaultPolicy, type HostPolicy } from '../../../../protocol/hostPolicy.ts';
import type { Manifest } from '../../../../../machines/types.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import type { ComposeFile } from '../document/composeNode.ts';
import { askedPowers, judgeComposePolicy, validateModelPolicy } from './composePolicy.ts';
import { anyHost } from './policyHost.ts';

const manifest = { agent: { allow_privileged: false, allow_rollback: false }, compose: ['compose.yaml'] } as Manifest;
const releaseFiles = new Set(['compose.yaml', 'a.env']);

function contextOf(permit: HostPolicy['permit'] = {}, texts?: ReadonlyMap<string, string>) {
  const host = { ...anyHost, policy: { ...defaultPolicy, permit } };
  return { manifest, host, projectName: 'deployd-eu-1', releaseFiles, ...(texts && { texts }) };
}

function fileOf(text: string): ComposeFile {
  const parsed = parseComposeFile('compose.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map((problem) => problem.text).join());
  return parsed.file;
}

const textsOf = (text: string, ...context: Parameters<typeof contextOf>) =>
  judgeComposePolicy([fileOf(text)], contextOf(...context)).refusals.map(({ code, detail }) => `${code}: ${detail}`);
const web = (keys: string) => `services: {web: {image: a, ${keys}}}\n`;
const inModel = (services: object, permit?: HostPolicy['permit'], more: object = {}) =>
  validateModelPolicy({ services, ...more }, '/release', {
    ...contextOf(permit),
    openedPaths: { all: [], byCompose: [] },
  });

it.each([
  web('env_file: [{path: none, required: false}]'),
  web('volumes: ["/etc/localtime:/etc/localtime:ro"]'),
  web('ports: ["${V?x-y}:80", "${V:?x-y}:80", "${V-1}:80"]'),
  web(
    'tmpfs: ["/x:size=$SIZE,uid=1", "/y:size=${SIZE}", "/z:size=${SIZE:-10m}", "/u:size=${SIZE-10m}", "/v:size=${S-1}"]',
  ),
  web(
    'develop: {watch: [{action: sync, path: ., target: /x, initial_sync: no, exec: {command: ~}, ignore: a, include: [b]}]}',
  ),
  web('scale: 100, stop_grace_period: 300s'),
  web(`command: "${'x'.repeat(16_384)}"`),
])('nothing is found in %s', (text) => {
  expect(textsOf(text)).toEqual([]);
});

describe('a path of the host', () => {
  it('with two dots has no permit, for the engine would follow links before them', () => {
    expect(textsOf(web('volumes: ["/srv/../etc:/x"]'), { binds: ['/**', '/etc', '/srv/../etc'] })).toEqual([
      'PRIVILEGED_REFUSED: service web: volumes /srv/../etc is outside the bundle (compose.yaml:1)',
    ]);
  });

  it('that a variable decides has no permit before compose has rendered it', () => {
    const long = (source: string) => ({ type: 'bind', source, target: '/x' });
    expect(textsOf(web('volumes: [{type: bind, source: "/srv/$V", target: /x}]'), { binds: ['/srv/**'] })).toEqual([
      'PRIVILEGED_REFUSED: service web: volumes.source /srv/$V is decided by a variable (compose.yaml:1)',
    ]);
    expect(inModel({ web: { image: 'a', volumes: [long('/srv/$$x')] } }, { binds: ['/srv/$x'] })).toEqual([]);
    expect(inModel({ web: { image: 'a', volumes: [long('/srv/$$x')] } }, { binds: ['/srv/y'] })).toHaveLength(1);
  });
});

describe('a volume that is a directory of the host', () => {
  const volume = (keys: string, mount = 'data:/x') => `${web(`volumes: ["${mount}"]`)}volumes: {data: {${keys}}}\n`;
  const options = (o: string, device = '/srv/a') => `driver_opts: {type: none, o: "${o}", device: "${device}"}`;
  const binds = ['/srv/**'];

  it.each(['bind', 'rbind', 'ro,bind', 'rw,ro,bind', 'bind,rw,ro'])('is permitted with the options %s', (o) => {
    expect(textsOf(volume(options(o)), { binds })).toEqual([]);
  });

  it.each([
    ...['bind,exec', 'exec,bind', 'xbind', 'bindx', 'bind,', ''].map((o) => options(o)),
    'driver_opts: {type: nfs, o: bind, device: /srv/a}',
    'driver_opts: {type: none, device: /srv/a, size: 1}',
    'driver_opts: {type: none, o: bind, device: /srv/a, size: 1}',
    'driver_opts: {type: none, o: bind, device: /srv/a, device_x: 1}',
    ...['/srv/../etc', '/srv/$V', 'srv/a', '/etc', '/run/docker.sock'].map((device) => options('bind', device)),
    `driver: nfs, ${options('bind')}`,
  ])('is not permitted as a mount: {%s}', (keys) => {
    const permit = { binds: [...binds, 'srv/a', '/srv/$V', '/run/docker.sock'] };
    expect(textsOf(volume(keys), permit)).toEqual([expect.stringContaining('PRIVILEGED_REFUSED: volume data: driver')]);
  });

  it('that is another project’s is permitted by its name, and has no directory', () => {
    const permit = { binds, volumes: ['data'] };
    expect(textsOf(volume('external: true'), permit)).toEqual([]);
    expect(textsOf(volume(`external: true, ${options('bind')}`), permit)).toHaveLength(1);
  });

  it('is only read if each service mounts it so, as written and as rendered', () => {
    const permit = { binds: ['/srv/**:ro'] };
    expect(textsOf(volume(options('bind'), 'data:/x:ro,nocopy'), permit)).toEqual([]);
    expect(textsOf(volume(options('bind')), permit)).toHaveLength(1);
    const mount = { type: 'volume', source: 'data', target: '/x' };
    const volumes = { data: { driver_opts: { type: 'none', o: 'bind', device: '/srv/$$a' } } };
    const rendered = (volume: object) => inModel({ web: { image: 'a', volumes: [volume] } }, permit, { volumes });
    expect(rendered({ ...mount, read_only: true, volume: { nocopy: true } })).toEqual([]);
    expect(rendered(mount)).toHaveLength(1);
  });

  it('is the socket of the engine whatever its options are, which a host denies', () => {
    const context = contextOf();
    const host = { ...context.host, policy: { ...defaultPolicy, deny: ['engine_socket' as const] } };
    const flagged = { ...manifest, agent: { ...manifest.agent, allow_privileged: true } };
    const judged = (keys: string) =>
      judgeComposePolicy([fileOf(volume(keys))], { ...context, host, manifest: flagged }).refusals;
    expect(judged(options('bind,exec', '/run/docker.sock'))).toMatchObject([{ code: 'PRIVILEGED_REFUSED' }]);
    expect(judged(options('bind,exec', '/srv/a'))).toEqual([]);
    expect(judged('driver: nfs')).toEqual([]);
  });
});

describe('a permit does not reach', () => {
  it.each([
    ['gpus: [{driver: tpu}]', 'gpus driver tpu'],
    ['gpus: [{driver: nvidiax}]', 'gpus driver nvidiax'],
    ['gpus: [{driver: xamd}]', 'gpus driver xamd'],
    ['devices: ["/dev/../dev/a"]', 'devices /dev/../dev/a'],
    ['devices: ["/dev/$V"]', 'devices /dev/$V'],
    ['devices: ["dev/a"]', 'devices dev/a'],
    ['devices: [{source: dev/a, target: /x}]', 'devices'],
    ['security_opt: ["seccomp:a.json"]', 'security_opt seccomp:a.json'],
    ['security_opt: ["seccomp=unconfinedx"]', 'security_opt seccomp=unconfinedx'],
    ['sysctls: {"$V": 1}', 'sysctls $V'],
    ['sysctls: ["$V=1"]', 'sysctls $V'],
  ])('%s', (keys, fault) => {
    const permit = {
      gpus: ['web'],
      devices: ['**', '/**'],
      security_opt: ['seccomp:a.json', 'seccomp:unconfinedx'],
      sysctls: ['$V'],
    };
    expect(textsOf(web(keys), permit)).toEqual([`PRIVILEGED_REFUSED: service web: ${fault} (compose.yaml:1)`]);
  });

  it.each([
    'gpus: [{driver: nvidia}, {driver: amd}, {count: 1}]',
    'devices: ["/dev/a:/dev/b", {source: /dev/c, target: /x}]',
    'security_opt: ["seccomp=unconfined", "xseccomp:a"]',
    'sysctls: {kernel.a: 1}',
  ])('more than it says: %s', (keys) => {
    const permit = {
      gpus: ['web'],
      devices: ['/dev/*'],
      security_opt: ['seccomp:unconfined', 'xseccomp:a'],
      sysctls: ['kernel.a'],
    };
    expect(textsOf(web(keys), permit)).toEqual([]);
  });
});

describe('networks and volumes from outside', () => {
  it.each([
    [
      'networks: {n: {external: true, name: "$N"}}',
      'PRIVILEGED_REFUSED: network n: external true, its name is decided by a variable (compose.yaml:2)',
    ],
    [
      'volumes: {v: {driver: "$D"}}',
      'PRIVILEGED_REFUSED: volume v: driver $D is decided by a variable (compose.yaml:2)',
    ],
    ['volumes: {v: {external: true, name: host}}', 'PRIVILEGED_REFUSED: volume v: external true (compose.yaml:2)'],
    ['networks: {n: {external: true, name: host}}', 'HOST_NETWORK_REFUSED: network n: external true (compose.yaml:2)'],
    ...['type', 'device'].flatMap((key) =>
      ['tmpfsx', 'xtmpfs'].map((value) => [
        `volumes: {v: {driver_opts: {${key}: ${value}}}}`,
        `PRIVILEGED_REFUSED: volume v: driver_opts.${key} ${value} (compose.yaml:2)`,
      ]),
    ),
    ['jobs: {}', 'COMPOSE_REFUSED: file: jobs is refused: the agent runs no jobs of compose (compose.yaml:2)'],
  ])('are refused: %s', (line, fault) => {
    expect(textsOf(`${web('tty: true')}${line}\n`)).toEqual([fault]);
  });

  it('a permit of volumes reaches one whose name is that of the network of the host', () => {
    expect(textsOf(`${web('tty: true')}volumes: {v: {external: true, name: host}}\n`, { volumes: ['host'] })).toEqual(
      [],
    );
  });
});

describe('limits', () => {
  const lines = (count: number) => new Map([['a.env', `${'A=1\n'.repeat(count)}\n\n`]]);

  it('are those of an env file, whose last lines may be empty', () => {
    expect(textsOf(web('env_file: a.env'), {}, lines(1_000))).toEqual([]);
    expect(textsOf(web('env_file: a.env'), {}, lines(1_001))).toEqual([
      'COMPOSE_REFUSED: service web: env_file a.env has more than 1000 lines (compose.yaml:1)',
    ]);
  });

  it('are those of mappings and texts', () => {
    const having = (keys: number, characters: number) => {
      const map = Array.from({ length: keys }, (_, at) => `k${at}: 1`).join(', ');
      return `${web('tty: true')}x-many: {${map}}\nx-long: "${'x'.repeat(characters)}"\n`;
    };
    expect(textsOf(having(5_000, 131_072))).toEqual([]);
    expect(textsOf(having(5_001, 131_073))).toEqual([
      'COMPOSE_REFUSED: file: x-many has more than 5000 keys (compose.yaml:2); file: x-long has more than 131072 characters (compose.yaml:3)',
    ]);
  });

  it.each([
    ['scale: 101', 'scale asks for more than 100 containers'],
    [`command: "${'x'.repeat(16_385)}"`, 'command has more than 16384 characters'],
  ])('are those of a service: %s', (keys, fault) => {
    expect(textsOf(web(keys))).toEqual([`COMPOSE_REFUSED: service web: ${fault} (compose.yaml:1)`]);
  });

  it('hold for a rendered model too', () => {
    const named = { image: 'a', container_name: 'shop' };
    expect(inModel({ a: named, b: named }).map(({ detail }) => detail)).toEqual([
      'service b: container_name is that of service a too',
    ]);
    const many = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`s${at}`, { image: 'a', scale: 100 }]));
    expect(inModel(many).map(({ code }) => code)).toEqual(['COMPOSE_REFUSED']);
  });
});

it('files whose texts are not known are refused', () => {
  expect(textsOf(web('env_file: a.env, label_file: a.env'))).toEqual([
    'COMPOSE_REFUSED: service web: env_file a.env could not be read (compose.yaml:1); service web: label_file a.env could not be read (compose.yaml:1)',
  ]);
});

it('the powers that files ask for are told once', () => {
  const text = web('cap_add: [NET_ADMIN, NET_ADMIN], volumes: ["/srv/a:/a:ro"], uts: host, logging: {options: {x: y}}');
  expect(askedPowers([fileOf(text)], contextOf())).toStrictEqual([
    { permit: 'capabilities', entry: 'NET_ADMIN', service: 'web' },
    { permit: 'binds', entry: '/srv/a', isWritable: false, service: 'web' },
  ]);
});
