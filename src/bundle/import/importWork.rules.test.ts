import { linesOf, type ProjectFiles } from '../../../fixtures/world/import/importing.ts';
import { memoryTree } from '../../../fixtures/world/import/memoryTree.ts';
import {
  bringDirectory,
  bringFile,
  bundlePathOf,
  type ImportChoices,
  type ImportWork,
  isKeyFile,
} from './importWork.rules.ts';

const secret = 'its value is a secret, and a bundle holds none';
const content = 'it is a secret, and a bundle holds none';
const literal = 'a variable must not decide a name, a path or a privilege over the host';
const key = '-----BEGIN PRIVATE KEY-----';

describe('an import reports', () => {
  it.each<[string, ProjectFiles, string[], Partial<ImportChoices>?]>([
    ['{image: x}', {}, []],
    ['{user: "1"}', {}, []],
    [
      '{image: x, build: ., develop: {watch: []}}',
      {},
      ['service a: build: is left out; push the image x, because hosts run images and do not build them'],
    ],
    [
      '{build: .}',
      {},
      [
        'service a: build: hosts run images and do not build them → --image a=REFERENCE with the image that its build pushes',
      ],
    ],
    ['{image: x}', {}, ['service a: image: y, because it was chosen'], { images: new Map([['a', 'y']]) }],
    ['{image: x}', {}, [], { images: new Map([['none', 'y']]) }],
    [
      '{image: x, network_mode: bridge}',
      {},
      ['service a: network_mode: bridge is left out, because containers of all projects share it'],
    ],
    [
      '{image: x, env_file: [.env, {path: b, required: false}]}',
      { '.env': 'A=1' },
      [
        'service a: env_file: .env is part of environment now, because a bundle has no secrets, and reads no file that a container may write',
        'service a: env_file: b is left out, because it is not there, and not required',
      ],
    ],
    ['{image: x, env_file: b}', {}, ['service a: env_file: b is not there → make it, or take it out']],
    [
      '{image: x, environment: {TOKEN: abc, NONE: }}',
      {},
      [
        `service a: environment.TOKEN: is \${TOKEN} now, because ${secret}`,
        'service a: environment.NONE: NONE is left out, because it has no value in the project',
      ],
    ],
    [
      '{image: x, environment: [TOKEN=abc, NONE]}',
      {},
      [
        `service a: environment.TOKEN: is \${TOKEN} now, because ${secret}`,
        'service a: environment.NONE: NONE is left out, because it has no value in the project',
      ],
    ],
    [
      '{image: x, volumes: ["/dev/a:/dev/b"]}',
      {},
      ['service a: volumes: /dev/a:/dev/b is under devices now, because it is a device file'],
    ],
    [
      '{image: x, volumes: [./d:/d, ~/h:/h, ./f.conf:/f.conf, ..:/up]}',
      { '../x': '' },
      [
        'service a: volumes: ./d is the named volume d-data now, because the project has no such directory',
        'service a: volumes: ~/h is the named volume h-data now, because a bundle has no home: copy what is there into the volume, or give --variable HOME=PATH',
        'service a: volumes: ./f.conf is not there → make the file, or take the mount out',
        'service a: volumes: .. is too large or too empty to come along → mount what the service needs of it, or a named volume',
      ],
    ],
    [
      '{image: x, volumes: [./c:/c, ./r:/r:ro, ./d:/d, ./e:/e:ro]}',
      { 'c/a.conf': '', 'r/a': '', 'r/k.pem': key, 'd/a.db': '', e: null },
      [
        'service a: volumes: ./c comes along (files: 1), because it is configuration',
        'service a: volumes: ./c is mounted read-only, because data belongs into a volume, which outlives a bundle',
        'service a: volumes: ./r comes along (files: 1), because it is configuration',
        'service a: volumes: ./d is the named volume d-data now, because it holds data; copy what is there into the volume',
        'service a: volumes: ./e is the named volume e-data now, because it holds data; copy what is there into the volume',
        'service a: volumes: r/k.pem holds a secret, and does not come along → make it a secret of the compose file, with an `environment`, or give --variable FILE if it holds none',
      ],
    ],
    [
      '{image: x, volumes: ["/etc/timezone:/t", "/var/lib/docker:/d:ro", "/srv:/s"]}',
      {},
      [
        'service a: volumes: /etc/timezone is mounted read-only, because so a bundle may have it anywhere',
        'service a: volumes: /var/lib/docker is permitted by no host → take the mount out',
      ],
    ],
    [
      '{image: x, user: $U, cap_add: ["$NONE"]}',
      { '.env': 'U=1' },
      [
        `service a: user: $U is written out as 1, because ${literal}`,
        'service a: cap_add: $NONE has no value that may be written out → --variable NONE=VALUE',
        'project: variables: NONE has no value, so it is empty, as compose takes it → --variable NONE=VALUE or --secret NONE',
      ],
    ],
    [
      '{image: x, command: "${TOKEN:-abc} ${HOME:-/root} $HOME ${NONE:?}"}',
      {},
      [
        'project: variables: ${TOKEN} has no default now, because its value is a secret, and a bundle holds none',
        'project: variables: ${HOME:-/root} is written out as /root, because it is reserved',
        'project: variables: HOME is reserved → write its value into the compose file, or --variable HOME=VALUE',
        'project: variables: NONE has no value → --variable NONE=VALUE or --secret NONE',
      ],
    ],
  ])('of %s', (service, more, lines, choices = {}) => {
    expect(linesOf({ 'compose.yaml': `services: {a: ${service}}\n`, ...more }, choices)).toEqual(lines);
  });

  it.each<[string, string, ProjectFiles, string[]]>([
    [
      'networks',
      '{n: {driver: overlay}}',
      {},
      ['network n: driver: overlay is left out, because a bundle runs on one host, which is not a swarm'],
    ],
    [
      'networks',
      '{n: {name: "a-$N"}}',
      { '.env': 'N=1' },
      [`network n: name: a-$N is written out as a-1, because ${literal}`],
    ],
    ['secrets', '{s: {file: f}}', {}, [`secret s: file: its content is the variable S now, because ${content}`]],
    [
      'configs',
      '{c: {file: f}}',
      { f: key },
      [`config c: file: its content is the variable C now, because ${content}`],
    ],
    ['configs', '{c: {file: f}}', {}, ['config c: file: f is not a file of the project → make it one']],
    [
      'configs',
      '{c: {external: true}}',
      {},
      ['config c: file: comes from outside the project → make it a file of the project'],
    ],
  ])('of %s %s', (section, parts, more, lines) => {
    expect(linesOf({ 'compose.yaml': `services: {a: {image: x}}\n${section}: ${parts}\n`, ...more })).toEqual(lines);
  });

  it('what it did to several files', () => {
    const files = {
      'a.yaml':
        'include: [b.yaml, oci://x]\nservices: {a: {image: x, ports: ["1:1"], extends: {file: c.yaml, service: c}}}\n',
      'b.yaml': 'services: {b: {image: x, extends: {file: c.yaml, service: none}}}\n',
      'c.yaml': 'services: {c: {image: y}}\n',
      'd.yaml': 'services: {a: {ports: !override ["2:2"]}}\nvolumes: !reset {}\n',
    };
    expect(linesOf(files, {}, ['a.yaml', 'd.yaml'])).toEqual([
      'file a.yaml: include: b.yaml, because the manifest names all compose files',
      'service a: extends: the service of c.yaml is written out, because each file of a bundle is validated separately',
      'service a: ports: !override is carried out in the preceding files, because a bundle has no YAML tags',
      'file: volumes: !reset is carried out in the preceding files, because a bundle has no YAML tags',
      'file a.yaml: include: oci://x is not a file of the project → fetch it, and name it by -f',
      'service b: extends: c.yaml has no such service, or cannot be read → write the service out',
    ]);
  });

  it('what is merged into what a later file resets', () => {
    const files = {
      'a.yaml': 'x-b: &b {ports: ["1:1"]}\nservices: {a: {image: x, <<: *b}}\n',
      'b.yaml': 'services: {a: {ports: !reset []}}\n',
    };
    expect(linesOf(files, {}, ['a.yaml', 'b.yaml'])).toEqual([
      'service a: ports: !reset is carried out in the preceding files, because a bundle has no YAML tags',
      'service a: ports: is merged into what a later file resets → take it out of a.yaml by hand',
    ]);
  });

  it('each thing once', () => {
    const text = 'services: {a: {image: x, volumes: [./d:/a, ./d:/b]}, b: {image: x, volumes: [./d:/a]}}\n';
    expect(linesOf({ 'compose.yaml': text })).toEqual(
      ['a', 'b'].map(
        (name) =>
          `service ${name}: volumes: ./d is the named volume d-data now, because the project has no such directory`,
      ),
    );
  });

  it('no password of a URL or an option', () => {
    const options = ['a=$U,password=hunter2;x_passwd=hunter2', 'a=$U,MySecret=hunter2&token=hunter2,secrets=open'];
    const volumes = `{v: {driver_opts: {o: "${options[0]}", p: "${options[1]}"}}}`;
    const text = `services: {a: {image: x}}\nvolumes: ${volumes}\n`;
    expect(linesOf({ 'compose.yaml': text, '.env': 'U=u' })).toEqual([
      `volume v: driver_opts: a=$U,password=…;x_passwd=… is written out as a=u,password=…;x_passwd=…, because ${literal}`,
      `volume v: driver_opts: a=$U,MySecret=…&token=…,secrets=open is written out as a=u,MySecret=…&token=…,secrets=open, because ${literal}`,
    ]);
    const image = 'https://u:hunter2@h/x ftp://:hunter2@h';
    const [chosen] = linesOf({ 'compose.yaml': 'services: {a: {image: x}}\n' }, { images: new Map([['a', image]]) });
    expect(chosen).toBe('service a: image: https://u:…@h/x ftp://:…@h, because it was chosen');
  });
});

const workOf = (...own: string[]) =>
  ({ paths: new Map(), copies: new Map(), documents: own.map((path) => ({ path })) }) as unknown as ImportWork;

it.each([
  ['a/b', 'a/b'],
  ['.', 'project'],
  ['../a', 'parent/a'],
  ['../../a/b', 'parent/a/b'],
  ['a/../b', 'a/../b'],
  ['manifest.json', 'manifest.json-2'],
])('%s is at %s in the bundle', (path, expected) => {
  expect(bundlePathOf(path, workOf())).toBe(expected);
});

it('two paths have two places, and the same path has one', () => {
  const work = workOf();
  expect(['../a', 'parent/a', '../../a', '../a'].map((path) => bringFile(path, work))).toEqual([
    ...['parent/a', 'parent/a-2', 'parent/a-3', 'parent/a'],
  ]);
  expect([...work.copies]).toEqual([
    ['parent/a', '../a'],
    ['parent/a-2', 'parent/a'],
    ['parent/a-3', '../../a'],
  ]);
});

it('a directory comes along with these files', () => {
  const work = workOf('compose.yaml', 'd/x');
  const files = ['compose.yaml', 'x', 'y/z'].map((path) => ({ path, kind: 'file' as const, size: 1 }));
  expect([bringDirectory('.', files, work), bringDirectory('d', files, work)]).toEqual(['project', 'd']);
  expect(Object.fromEntries(work.copies)).toEqual({
    ...{ 'project/compose.yaml': 'compose.yaml', 'project/x': 'x', 'project/y/z': 'y/z' },
    ...{ 'd/compose.yaml': 'd/compose.yaml', 'd/x': 'd/x', 'd/y/z': 'd/y/z' },
  });
});

it.each([
  ['.env', true],
  ['a/.env', true],
  ['a.env', false],
  ['.env/a', false],
  ['key', true],
  ['open', false],
  ['none', false],
])('%s holds a secret: %j', (path, expected) => {
  const tree = memoryTree({ key: '-----BEGIN PRIVATE KEY-----', open: '-----BEGIN PRIVATE KEY-----' });
  const choices = { variables: new Map([['open', null]]) } as unknown as ImportChoices;
  expect(isKeyFile(path, { tree, choices })).toBe(expected);
});
