import {
  type ExpectedImport,
  expectImport,
  type ProjectFiles,
  resultOf,
} from '../../../fixtures/world/import/importing.ts';

describe('mounts', () => {
  it.each<[string, string, ProjectFiles, ExpectedImport]>([
    [
      'bring files along',
      '[./a.conf:/a.conf:ro]',
      { 'a.conf': 'x' },
      { a: { volumes: ['./a.conf:/a.conf:ro'] }, copies: ['a.conf'] },
    ],
    [
      'bring files of other directories along',
      '[../etc/a.conf:/a.conf]',
      { '../etc/a.conf': 'x' },
      { a: { volumes: ['./parent/etc/a.conf:/a.conf:ro'] }, copies: ['parent/etc/a.conf'] },
    ],
    [
      'of all services that have them are told',
      '[./conf/:/c]}, b: &b {image: x, volumes: ["./data:/d"]}, c: {<<: *b}, d: {<<: *b, volumes: []',
      { 'conf/a.yml': 'x' },
      {
        changes: [
          /^service b: volumes: \.\/data is the named volume/,
          /^service c: volumes: \.\/data is the named volume/,
        ],
      },
    ],
    [
      'bring configuration along',
      '[./conf/:/c]',
      { 'conf/a.yml': 'x', 'conf/b/c': 'y' },
      { copies: ['conf/a.yml', 'conf/b/c'] },
    ],
    [
      'of missing directories become volumes',
      '[./data/db:/data, {type: bind, source: ./data/db, target: /b, bind: {selinux: z}}]',
      {},
      {
        a: { volumes: ['data-db:/data', 'data-db:/b'] },
        top: { volumes: { 'data-db': {} } },
        changes: [/\.\/data\/db is the named volume data-db now/],
      },
    ],
    [
      'of data become volumes, for all services',
      '[./data:/var/lib/mysql]}, b: {image: x, volumes: [./data:/d:ro]',
      { 'data/ibdata1': 'x', 'data/my.cnf': 'x' },
      {
        a: { volumes: ['data:/var/lib/mysql'] },
        copies: [],
        changes: [/service b: volumes: \.\/data is the named volume data/],
      },
    ],
    [
      'of volumes of the project stay',
      '[data:/data, /anonymous]',
      {},
      { a: { volumes: ['data:/data', '/anonymous'] } },
    ],
    [
      'of the clock are read-only, of the host they stay',
      '[/etc/localtime:/etc/localtime, /srv/x:/x]',
      {},
      { a: { volumes: ['/etc/localtime:/etc/localtime:ro', '/srv/x:/x'] } },
    ],
    [
      'of configuration are read-only where nothing is known to write',
      '[./conf:/etc/app, ./a.sh:/a.sh, {type: bind, source: ./conf, target: /d}]',
      { 'conf/a.yml': 'x', 'a.sh': 'x' },
      {
        a: {
          volumes: ['./conf:/etc/app:ro', './a.sh:/a.sh:ro', './conf:/d:ro'],
        },
        changes: [/\.\/conf is mounted read-only/, /\.\/a\.sh is mounted read-only/],
      },
    ],
    [
      'that are known to be written to stay writable, which a host refuses',
      '[./conf:/config, ./acme.json:/acme.json, ./a.db:/b, ./conf:/e:rw, {type: bind, source: ./conf, target: /d, read_only: no}]',
      { 'conf/a.yml': 'x', 'acme.json': 'x', 'a.db': 'x' },
      {
        a: { volumes: ['./conf:/config', './acme.json:/acme.json', './a.db:/b', './conf:/e', './conf:/d:ro'] },
      },
    ],
    [
      'with others below them are read-only where they have a place for these',
      '[./conf:/c, "data:/c/sub", "/c/more/deep", ./site:/s/, "cache:/s/cache/"]',
      { 'conf/sub/a.yml': 'x', 'conf/more/deep': 'x', 'site/a.html': 'x' },
      {
        undecided: [
          /something else is mounted below \.\/site, where the directory has no place for it → make an empty/,
        ],
      },
    ],
    ['of missing files are left open', '[./a.conf:/a.conf]', {}, { undecided: [/\.\/a\.conf is not there/] }],
    [
      'of missing directories that are named as some files are become volumes',
      '[./config:/config, ./src:/src]',
      {},
      { a: { volumes: ['config:/config', 'src:/src'] } },
    ],
    [
      'of directories with nothing to bring along become volumes',
      '[.:/app, ./empty:/e:ro]',
      { 'empty/.env': 'A=1' },
      { a: { volumes: ['data:/app', 'empty:/e:ro'] }, copies: [] },
    ],
    [
      'of homes become volumes',
      '[~/media:/x, "~/books:/y:ro", {type: bind, source: ~/media, target: /z}]',
      {},
      {
        a: { volumes: ['media:/x', 'books:/y:ro', 'media:/z'] },
        changes: [/^service a: volumes: ~\/media is the named volume media now$/],
      },
    ],
    [
      'of files in homes, and of homes themselves, are left open',
      '[~/x.conf:/x.conf, "~:/home:ro", ~ann/x:/x]',
      {},
      {
        undecided: [
          /~\/x\.conf is in somebody's home → write an absolute path, or give --variable HOME=PATH/,
          /~ is in/,
          /~ann\/x is in/,
        ],
      },
    ],
    [
      'of what is there for a while become volumes',
      '[/tmp/x:/x, "/var/tmp//y/:/y:rw", /tmp:/t]',
      {},
      {
        a: { volumes: ['tmp-x:/x', 'var-tmp-y:/y', 'tmp:/t'] },
        changes: [/\/tmp\/x is the named volume tmp-x now/],
      },
    ],
    [
      'of shared memory become volumes in memory',
      '[/dev/shm:/dev/shm]',
      {},
      {
        a: { volumes: ['dev-shm:/dev/shm'] },
        top: { volumes: { 'dev-shm': { driver_opts: { type: 'tmpfs', device: 'tmpfs' } } } },
      },
    ],
    [
      'of paths that no host can see stay, which a host refuses',
      '[/tmp/.X11-unix:/tmp/.X11-unix, /tmp/a.jar:/a.jar, /proc/1/ns:/ns]',
      {},
      { a: { volumes: ['/tmp/.X11-unix:/tmp/.X11-unix', '/tmp/a.jar:/a.jar', '/proc/1/ns:/ns'] } },
    ],
    [
      'lose the propagation that only brings later mounts, and keep one that makes mounts on the host',
      '["/srv:/a:ro,rslave", "/mnt:/b:rshared", {type: bind, source: /opt, target: /c, bind: {propagation: slave}}]',
      {},
      {
        a: { volumes: ['/srv:/a:ro', '/mnt:/b:rshared', '/opt:/c'] },
        changes: [/the propagation rslave of \/srv is left out/],
      },
    ],
    ['of the whole host are left open', '["/:/host:ro"]', {}, { undecided: [/\/ is permitted by no host/] }],
    [
      'of keys that are not a text are left open',
      '[./tls:/tls:ro]',
      { 'tls/a.crt': 'x', 'tls/a.key': '-----BEGIN PRIVATE KEY-----\0' },
      { copies: ['tls/a.crt'], undecided: [/tls\/a\.key holds a secret, and does not come along/] },
    ],
    [
      'of the project bring it along without its secrets',
      '[.:/app:ro]',
      { 'a.py': 'x', '.env': 'A=1', '.git/config': 'x' },
      { a: { volumes: ['./project:/app:ro'] }, copies: ['project/a.py'] },
    ],
    [
      'of directories above the project are left open',
      '[..:/app]',
      { '../a.py': 'x' },
      { undecided: [/\.\. is too large/] },
    ],
  ])('%s', (_, volumes, more, expected) => {
    expectImport([`{image: x, volumes: ${volumes}}`, more], expected);
  });
});

interface Expected {
  /** The volume `v` of the result. */
  v: object;
  changes?: RegExp[];
  undecided?: RegExp[];
}

const bindOf = (device: string) => ({ driver: 'local', driver_opts: { type: 'none', o: 'bind', device } });

it.each<[string, object, ProjectFiles, Expected]>([
  ['a directory of the host stays', bindOf('/srv/x'), {}, { v: bindOf('/srv/x') }],
  [
    'one of the plugin local-persist is a directory of the host',
    { driver: 'local-persist', driver_opts: { mountpoint: '/srv/x' } },
    {},
    { v: bindOf('/srv/x'), changes: [/volume v: driver: local-persist is a bind of \/srv\/x by driver_opts now/] },
  ],
  [
    'a directory of the project is a volume of the engine',
    bindOf('./data'),
    { 'data/ibdata1': 'x' },
    { v: {}, changes: [/^volume v: driver_opts: \.\/data is a volume of the engine now, with its driver$/] },
  ],
  ['one in a home too', bindOf('~/data'), {}, { v: {}, changes: [/~\/data is a volume/] }],
  ['one that no host can see too', bindOf('/tmp/x'), {}, { v: {}, changes: [/\/tmp\/x is a volume/] }],
  [
    'configuration of the project is left open',
    bindOf('conf'),
    { 'conf/a.yml': 'x' },
    { v: bindOf('conf'), undecided: [/conf holds configuration → mount it by its path instead/] },
  ],
])('%s', (_title, volume, more, { v, changes = [], undecided = [] }) => {
  const compose = `services: {a: {image: x, volumes: ["v:/v"]}}\nvolumes: {v: ${JSON.stringify(volume)}}\n`;
  const found = resultOf({ 'compose.yaml': compose, ...more });
  expect(found.top).toEqual({ volumes: { v } });
  for (const pattern of changes) expect(found.changes).toContainEqual(expect.stringMatching(pattern));
  expect(found.undecided).toEqual(undecided.map((pattern) => expect.stringMatching(pattern) as string));
});
