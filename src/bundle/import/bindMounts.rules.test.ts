import { directoryUse, looksLikeFile, volumeNameFor } from './bindMounts.rules.ts';
import { parseProjectFile } from './projectDocument.rules.ts';

function namesOf(paths: string[], text = 'services: {}\n'): string[] {
  const read = parseProjectFile('compose.yaml', text);
  const work = { volumes: new Map<string, string>(), documents: 'problems' in read ? [] : read.documents };
  return paths.map((path) => volumeNameFor(path, work));
}

it.each([
  ['data', 'data'],
  ['data/db', 'data-db'],
  ['../data', 'data'],
  ['.', 'data'],
  ['..', 'data'],
  ['a', 'a-data'],
  ['my  data/x', 'my-data-x'],
  ['.hidden', 'hidden'],
  ['--x', 'x-data'],
  ['A_b.c-9', 'A_b.c-9'],
  ['ä', 'data'],
])('the directory %s becomes the volume %s', (path, name) => {
  expect(namesOf([path])).toEqual([name]);
});

it('the same directory has the same volume, and no other has its name', () => {
  expect(namesOf(['data', 'data', '../data', 'data/', 'x/../data'])).toEqual([
    ...['data', 'data', 'data-2', 'data-3', 'x-data'],
  ]);
  expect(namesOf(['db'], 'volumes: {db: , db-2: }\nservices: {}\n')).toEqual(['db-3']);
});

const useOf = (paths: string[], target = '/x', isReadOnly = false, size = 1) =>
  directoryUse(
    paths.map((path) => ({ path, kind: 'file', size })),
    target,
    isReadOnly,
  );

const configNames =
  'a.conf a.cnf a.cfg a.ini a.toml a.yaml a.yml a.json a.json5 a.xml a.properties a.env a.sh a.bash a.sql a.lua a.js a.mjs a.ts ' +
  'a.py a.rb a.php a.pl a.htm a.html a.css a.tpl a.tmpl a.templ a.tempmpl a.j2 a.hcl a.rule a.rules a.crt a.cert a.pem a.cer a.key ' +
  'a.txt a.md a.ldif a.cql a.cypher a.vcl a.acl a.repo a.service a.inc a.template a.example a.sample a.dist a.default a.types ' +
  'a.htpasswd a.edn a.groovy a.jar a.so a.prom a.rego a.star a.tf a.vmoptions a.policy a.user a.users a.passwd a.yaml.tmpl ' +
  '.htpasswd htpasswd Caddyfile Corefile nginx.conf config Dockerfile crontab hosts passwd Makefile .bashrc npmrc b/Caddyfile A.CONF';

describe('a mounted directory', () => {
  it.each(configNames.split(' ').filter((name) => name !== 'a.tempmpl' && name !== 'a.templ'))(
    'is configuration with %s',
    (name) => {
      expect(useOf(['data.bin', name])).toBe('config');
    },
  );

  it.each('a a.bin a.confx a.config.bin xCaddyfile Caddyfilex rc a.rcx xhosts a.mxs a.mas configs'.split(' '))(
    'is data with nothing but %s',
    (name) => {
      expect(useOf([name])).toBe('data');
      expect(useOf([name], '/x', true)).toBe('config');
    },
  );

  it.each([
    ...['.gitkeep', '.gitignore', '.keep', '.placeholder', 'README', 'readme.md', 'b/.gitkeep', 'a/README.TXT'],
  ])('is data with nothing but %s, even if it is read-only', (name) => {
    expect(useOf([name], '/x', true)).toBe('data');
  });

  it.each(['x.gitkeep', '.gitkeepx', 'xreadme.md', 'readme.md.conf', 'readme.'])('is more with %s', (name) => {
    expect(useOf([name], '/x', true)).toBe('config');
  });

  it.each(
    'a.db a.sqlite a.sqlite3 a.ibd a.frm a.myd a.rdb a.aof a.mdb a.wal PG_VERSION b/PG_VERSION ibdata1 mysql.sock A.DB'.split(
      ' ',
    ),
  )('is data with %s beside configuration', (name) => {
    expect(useOf([name, 'a.conf'])).toBe('data');
    expect(useOf([name, 'a.conf'], '/x', true)).toBe('config');
  });

  it.each(['a.dbx', 'xPG_VERSION', 'PG_VERSIONx', 'a.sqlite4'])('is configuration with %s beside it', (name) => {
    expect(useOf([name, 'a.conf'])).toBe('config');
  });

  it.each([
    ...[
      'postgresql',
      'mysql',
      'mongodb',
      'redis',
      'rabbitmq',
      'influxdb',
      'clickhouse',
      'cassandra',
      'elasticsearch',
    ].map((name) => `/var/lib/${name}`),
    ...['/var/lib/mysql/data', '/data/db', '/data/configdb', '/bitnami', '/usr/share/elasticsearch/data'],
  ])('is data at %s', (target) => {
    expect(useOf(['a.conf'], target)).toBe('data');
  });

  it.each(['/x/var/lib/mysql', '/var/lib/mysqlx', '/bitnami/conf', '/var/lib/mysql/a/init.d', '/data'])(
    'is configuration at %s',
    (target) => {
      expect(useOf(['a.conf'], target)).toBe('config');
    },
  );

  it('is data when it is too large or empty', () => {
    const many = (count: number) => Array.from({ length: count }, (_, index) => `${index}.conf`);
    expect(useOf(many(2_000))).toBe('config');
    expect(useOf(many(2_001))).toBe('data');
    expect(useOf(['a.conf', 'b.conf'], '/x', true, 2 ** 25)).toBe('config');
    expect(useOf(['a.conf', 'b.conf'], '/x', true, 2 ** 25 + 1)).toBe('data');
    expect([useOf([]), directoryUse(null, '/x', true)]).toEqual(['data', 'data']);
  });
});

describe('a missing path', () => {
  it.each(['a.conf', 'b/Caddyfile', 'ab.db', 'b/a.sqlite', 'a.sqlite3', 'a.log', 'a.sock', 'a.pid', 'a.LOCK'])(
    'looks like a file: %s',
    (path) => {
      expect(looksLikeFile(path)).toBe(true);
    },
  );

  it.each(['data', 'conf.d', 'a.b.db', '.db', 'a.dbx', 'a.db/x', 'x/.log'])('looks like a directory: %s', (path) => {
    expect(looksLikeFile(path)).toBe(false);
  });
});
