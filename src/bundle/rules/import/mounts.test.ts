import { expectImport, type ExpectedImport, type ProjectFiles } from '../../../../fixtures/import/importing.ts';

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
      { a: { volumes: ['./parent/etc/a.conf:/a.conf'] }, copies: ['parent/etc/a.conf'] },
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
        a: { volumes: ['data-db:/data', { type: 'volume', source: 'data-db', target: '/b' }] },
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
    ['of missing files are left open', '[./a.conf:/a.conf]', {}, { undecided: [/\.\/a\.conf is not there/] }],
    ['of homes are left open', '[~/x:/x]', {}, { undecided: [/~\/x is in somebody's home/] }],
    ['of the whole host are left open', '["/:/host:ro"]', {}, { undecided: [/\/ is permitted by no host/] }],
    [
      'of private keys are left open',
      '[./tls:/tls:ro]',
      { 'tls/a.crt': 'x', 'tls/a.key': '-----BEGIN PRIVATE KEY-----' },
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
