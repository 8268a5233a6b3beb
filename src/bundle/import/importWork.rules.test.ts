import { linesOf, type ProjectFiles } from '../../../fixtures/world/import/importing.ts';
import { memoryTree } from '../../../fixtures/world/import/memoryTree.ts';
import { bring, bringFile, type ImportChoices, type ImportWork, isKeyFile, masked } from './importWork.rules.ts';

const secret = 'its value is a secret, and a bundle holds none';
const content = 'it is a secret, and a bundle holds none';
const key = '-----BEGIN PRIVATE KEY-----';

describe('an import reports', () => {
  it.each<[string, ProjectFiles, string[], Partial<ImportChoices>?]>([
    ['{image: x}', {}, []],
    ['{user: "1"}', {}, []],
    [
      '{image: x, build: ., develop: {watch: []}}',
      {},
      ['service a: build: is left out, with develop; push the image x, because hosts run images and do not build them'],
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
      [
        'service a: network_mode: bridge is left out; networks has default now, because containers of all projects share it',
      ],
    ],
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
      { 'c/a.conf': '', 'r/a': '', 'r/k.pem': `${key}\0`, 'd/a.db': '', e: null },
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
      'secrets',
      '{s: {file: f}}',
      {},
      [`secret s: file: its content is the environment variable S now, because ${content}`],
    ],
    [
      'configs',
      '{c: {file: f}}',
      { f: key },
      [`config c: file: its content is the environment variable C now, because ${content}`],
    ],
  ])('of %s %s', (section, parts, more, lines) => {
    expect(linesOf({ 'compose.yaml': `services: {a: {image: x}}\n${section}: ${parts}\n`, ...more })).toEqual(lines);
  });

  it('the forms that the bundle does not keep', () => {
    const text = '# a\nx-b: &b {image: x, env_file: e.env}\nservices:\n  a: *b\n';
    const files = { 'compose.yaml': text, 'e.env': '# c\nA=1\n', 'b.yaml': '# no compose file\n' };
    expect(linesOf(files)).toEqual([
      ...['comments', 'anchors', 'x- sections'].map(
        (what) => `project: files: ${what} are left out, because the bundle contains what compose reads`,
      ),
      'project: files: env_file is environment now, because a later change of the file has no effect',
    ]);
  });

  it('a variable that only the default of another one names', () => {
    const text =
      'services: {a: {image: x, command: "${A:-${B:-c}} ${D:-${E}} ${F:-${G:-h}} ${H:-$$host} ${I:-$J}"}}\ninclude: [{path: s/c.yaml, env_file: s/e.env}]\n';
    const others = { '.env': 'E=1\nF=2\n', 's/e.env': 'J=1\n' };
    expect(linesOf({ 'compose.yaml': text, ...others })).toEqual([
      'project: files: env_file is environment now, because a later change of the file has no effect',
      'project: variables: B is left out, because it has no value, and only the default of another variable names it',
      'project: variables: G is left out, because it has no value, and only the default of another variable names it',
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
    const masks = [
      ['a,password=hunter2;x_passwd=hunter2', 'a,password=…;x_passwd=…'],
      ['MySecret=hunter2&token=hunter2,secrets=open', 'MySecret=…&token=…,secrets=open'],
    ];
    for (const [before = '', after] of masks) expect(masked(before)).toBe(after);
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
  expect(bring(path, workOf(), [])).toBe(expected);
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
  expect([bring('.', work, files), bring('d', work, files)]).toEqual(['project', 'd']);
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
