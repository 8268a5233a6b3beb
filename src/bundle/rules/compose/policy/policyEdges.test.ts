import { defaultPolicy, type HostPolicy } from '../../../../protocol/hostPolicy.ts';
import type { Manifest } from '../../../../../machines/types.ts';
import { parseComposeFile } from '../document/composeFile.ts';
import type { ComposeFile } from '../document/composeNode.ts';
import { askedPowers, judgeComposePolicy, validateModelPolicy } from './composePolicy.ts';
import { anyHost } from './policyHost.ts';

const manifest = { agent: { allow_privileged: false }, compose: ['compose.yaml'] } as Manifest;
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
const inModel = (services: object, permit?: HostPolicy['permit']) =>
  validateModelPolicy({ services }, '/release', { ...contextOf(permit), openedPaths: { all: [], byCompose: [] } });

it.each([
  web('env_file: [{path: none, required: false}]'),
  web('volumes: ["/etc/localtime:/etc/localtime:ro"]'),
  web('ports: ["${V?x-y}:80", "${V:?x-y}:80", "${V-1}:80"]'),
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

describe('networks and volumes from outside', () => {
  it.each([
    [
      'networks: {n: {external: true, name: "$N"}}',
      'PRIVILEGED_REFUSED: network n: external true, its name is decided by a variable (compose.yaml:2)',
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
    const keys = Array.from({ length: 5_001 }, (_, at) => `k${at}: 1`).join(', ');
    expect(textsOf(`${web('tty: true')}x-many: {${keys}}\nx-long: "${'x'.repeat(131_073)}"\n`)).toEqual([
      'COMPOSE_REFUSED: file: x-many has more than 5000 keys (compose.yaml:2); file: x-long has more than 131072 characters (compose.yaml:3)',
    ]);
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
  const text = web('cap_add: [NET_ADMIN, NET_ADMIN], volumes: ["/srv/a:/a:ro"], uts: host');
  expect(askedPowers([fileOf(text)], contextOf())).toStrictEqual([
    { permit: 'capabilities', entry: 'NET_ADMIN', service: 'web' },
    { permit: 'binds', entry: '/srv/a', isWritable: false, service: 'web' },
  ]);
});
