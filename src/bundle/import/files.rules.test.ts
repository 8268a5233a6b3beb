import { parse } from 'yaml';
import {
  type ExpectedImport,
  expectImport,
  importedBundle,
  linesOf,
  type ProjectFiles,
  resultOf,
} from '../../../fixtures/world/import/importing.ts';

const of = (section: string, part: string, files: ProjectFiles = {}) => {
  const text = `services: {a: {image: x}}\n${section}: {my-x: ${part}}\n`;
  const { top, secrets, copies, undecided } = resultOf({ 'compose.yaml': text, ...files });
  return { part: (top as Record<string, Record<string, unknown>>)[section]?.['my-x'], secrets, copies, undecided };
};
const fromStore = { part: { environment: 'MY_X' }, secrets: ['MY_X'], copies: [], undecided: [] };
const key = { k: '-----BEGIN PRIVATE KEY-----' };

it.each<[string, string, ProjectFiles]>([
  ['secrets', '{file: f}', {}],
  ['secrets', '{file: /run/f}', {}],
  ['secrets', '{external: true, name: n, driver: d, driver_opts: {a: b}}', {}],
  ['configs', '{file: k}', key],
  ['configs', '{file: ./k, external: false}', key],
])('the content of %s %s comes from the secretstore', (section, part, files) => {
  expect(of(section, part, files)).toEqual(fromStore);
});

it('what has external: false is not from outside', () => {
  expect(of('secrets', '{external: false, content: c}')).toMatchObject({ part: { content: 'c' }, secrets: [] });
});

it('a secret of the environment is one, whatever its name', () => {
  expect(of('secrets', '{environment: PLAIN}')).toEqual({
    ...{ part: { environment: 'PLAIN' }, secrets: ['PLAIN'], copies: [], undecided: [] },
  });
  expect(of('configs', '{environment: PLAIN}', { '.env': 'PLAIN=1' })).toMatchObject({ secrets: [] });
});

it.each<[string, string, string[]]>([
  ['./f', './f', ['f']],
  ['../f', './parent/f', ['parent/f']],
])('the file %s of a config comes along as %s', (file, expected, copies) => {
  expect(of('configs', `{file: ${file}}`, { f: '', '../f': '' })).toMatchObject({ part: { file: expected }, copies });
});

it.each(['/f', '~/f', 'none', 'd', 'x/~f'])('the file %s of a config stays, which a host refuses', (file) => {
  const files = { '~/f': '', f: '', 'd/f': '' };
  expect(of('configs', `{file: ${file}}`, files)).toEqual({
    ...{ part: { file }, secrets: [] },
    copies: [],
    undecided: [],
  });
});

it('two secrets whose names differ in case alone are two', () => {
  const text = 'services: {a: {image: x}}\nsecrets: {token: {file: f}, TOKEN: {file: f}}\n';
  expect(resultOf({ 'compose.yaml': text }).secrets).toEqual(['TOKEN', 'FILE_TOKEN']);
});

describe('the environment of a service', () => {
  it.each<[string, string, ProjectFiles, ExpectedImport]>([
    [
      'loses its literal secrets',
      '{image: x, environment: {POSTGRES_PASSWORD: example, POSTGRES_USER: app, ALLOW_EMPTY_PASSWORD: "yes"}}',
      {},
      {
        a: {
          environment: { POSTGRES_PASSWORD: '${POSTGRES_PASSWORD}', POSTGRES_USER: 'app', ALLOW_EMPTY_PASSWORD: 'yes' },
        },
        secrets: ['POSTGRES_PASSWORD'],
        changes: [/environment\.POSTGRES_PASSWORD: is \$\{POSTGRES_PASSWORD\} now/],
      },
    ],
    [
      'names secrets after their service where several have the same name',
      '{image: x, environment: ["PASSWORD=one"]}, b: {image: x, environment: ["PASSWORD=two"]}, c: {image: x, environment: ["PASSWORD=one"]}',
      {},
      { a: { environment: { PASSWORD: '${PASSWORD}' } }, secrets: ['PASSWORD', 'B_PASSWORD'] },
    ],
    [
      'loses names without a value, as compose leaves them out',
      '{image: x, environment: [SMTP, API_KEY, TAG=1]}',
      { '.env': 'TAG=1' },
      { a: { environment: { API_KEY: null, TAG: '${TAG}' } }, secrets: ['API_KEY'], variables: { TAG: '1' } },
    ],
    [
      'has secrets with a reserved name by another',
      '{image: x, environment: [DOCKER_TOKEN=hunter2, SSH_KEY, DOCKER_TAG=1]}',
      { '.env': 'DOCKER_TOKEN=hunter2\nDOCKER_TAG=1\n' },
      {
        a: { environment: { DOCKER_TOKEN: '${A_DOCKER_TOKEN}', SSH_KEY: '${A_SSH_KEY}', DOCKER_TAG: '1' } },
        secrets: ['A_DOCKER_TOKEN', 'A_SSH_KEY'],
        changes: [/environment\.DOCKER_TOKEN: is \$\{A_DOCKER_TOKEN\} now/],
      },
    ],
    [
      'tells all services that have it',
      '{image: x, environment: &e {TOKEN: hunter2}}, b: {image: x, environment: {<<: *e, LEVEL: "1"}}',
      {},
      { changes: [/^service a: environment\.TOKEN: is \$\{TOKEN\} now/, /^service b: environment\.TOKEN: is/] },
    ],
    [
      'supplies secrets whose names are merged into it',
      '{image: x, environment: {<<: {API_KEY: , B_KEY: }, B_KEY: "$API_KEY"}}',
      {},
      { secrets: ['API_KEY'] },
    ],
  ])('%s', (_, service, more, expected) => {
    expectImport([service, more], expected);
  });
});

const secretNow = 'because its value is a secret, and a bundle holds none';

it.each<[string, string, string[], ProjectFiles?]>([
  [
    'command: redis-server --requirepass hunter2',
    'command: "redis-server --requirepass ${REQUIREPASS}"',
    ['REQUIREPASS'],
  ],
  [
    'command: [redis-server, --requirepass, "my pass"]',
    'command: [redis-server, --requirepass, "${REQUIREPASS}"]',
    ['REQUIREPASS'],
  ],
  [
    'healthcheck: {test: [CMD, mysqladmin, ping, -uroot, -phunter2]}',
    'healthcheck: {test: [CMD, mysqladmin, ping, -uroot, "-p${MYSQL_PASSWORD}"]}',
    ['MYSQL_PASSWORD'],
  ],
  [
    'healthcheck: {test: "redis-cli -a hunter2 ping | grep $X"}',
    'healthcheck: {test: "redis-cli -a ${REDIS_PASSWORD} ping | grep ${X}"}',
    ['REDIS_PASSWORD'],
    { '.env': 'X=1' },
  ],
  ['entrypoint: [sh, -c, "x $$Y --token=abc"]', 'entrypoint: [sh, -c, "x $$Y --token=${TOKEN}"]', ['TOKEN']],
  [
    'labels: ["t.users=a:$$apr1$$abcdefgh$$0123456789abcdefghijkl"]',
    'labels: {t.users: "a:${PASSWORD_HASH}"}',
    ['PASSWORD_HASH'],
  ],
  [
    'environment: {URL: "postgres://u:hunter2@$H/x", URLS: "a postgres://u:other@$H/x"}',
    'environment: {URL: "postgres://u:${POSTGRES_PASSWORD}@${H}/x", URLS: "a postgres://u:${A_POSTGRES_PASSWORD}@${H}/x"}',
    ['POSTGRES_PASSWORD', 'A_POSTGRES_PASSWORD'],
    { '.env': 'H=h' },
  ],
  [
    'command: "x ${DB:-postgres://u:hunter2@h/x} ${SET:-postgres://u:unused@h/x}"',
    'command: "x ${DB:-postgres://u:${POSTGRES_PASSWORD}@h/x} ${SET}"',
    ['POSTGRES_PASSWORD'],
    { '.env': 'SET=1' },
  ],
  ['command: x --password $PW --ttl 3', 'command: "x --password ${PW} --ttl 3"', [], { '.env': 'PW=1' }],
])('secrets in a text become variables: %s', (before, after, secrets, more = {}) => {
  const { a } = parse(`a: {image: x, ${after}}`) as { a: object };
  const found = resultOf({ 'compose.yaml': `services: {a: {image: x, ${before}}}\n`, ...more });
  expect([found.a, found.secrets]).toEqual([a, secrets]);
  const { valueOf } = importedBundle({ 'compose.yaml': `services: {a: {image: x, ${before}}}\n`, ...more });
  for (const name of secrets) expect(valueOf(name)).not.toContain('$$');
});

it('a secret in a text is reported without its value, and may be denied by its name', () => {
  const files = {
    'compose.yaml': 'services: {a: {image: x, command: x --token abc}}\nconfigs: {c: {content: "token=abc"}}\n',
  };
  expect(linesOf(files)).toEqual([
    `service a: command: a part of it is \${TOKEN} now, ${secretNow}`,
    `config c: content: a part of it is \${TOKEN} now, ${secretNow}`,
  ]);
  expect(resultOf(files, { variables: new Map([['TOKEN', null]]) })).toMatchObject({
    ...{ a: { command: 'x --token abc' }, secrets: [] },
  });
});

it('a mounted file that holds a secret is a secret of the compose file', () => {
  const conf = { 'conf/redis.conf': 'requirepass hunter2\n' };
  const mount = 'volumes: ["./conf/redis.conf:/etc/redis.conf:ro", "d:/d"]';
  const files = {
    'compose.yaml': `services: {a: {image: x, ${mount}}, b: {image: x, ${mount}}}\nvolumes: {d: }\n`,
    ...conf,
  };
  const found = resultOf(files);
  expect(found).toMatchObject({
    a: { volumes: ['d:/d'], secrets: [{ source: 'conf-redis.conf', target: '/etc/redis.conf' }] },
    top: { secrets: { 'conf-redis.conf': { environment: 'CONF_REDIS_CONF' } } },
    ...{ secrets: ['CONF_REDIS_CONF'], copies: [], undecided: [] },
  });
  expect(found.changes).toContain(
    'service a: volumes: ./conf/redis.conf is under secrets now: conf-redis.conf of the variable CONF_REDIS_CONF',
  );
  expect(importedBundle(files).secretSources.get('CONF_REDIS_CONF')).toEqual({
    path: 'conf/redis.conf',
    isEnvFile: false,
  });
  const denied = resultOf(files, { variables: new Map([['conf/redis.conf', null]]) });
  expect(denied).toMatchObject({ secrets: [], copies: ['conf/redis.conf'] });
});

it.each([
  'volumes: [./k:/k:rw]',
  'volumes: [./k:/acme.json]',
  'read_only: true, volumes: [./k:/k]',
  'volumes: ["v:/etc", "./k:/etc/k"]',
  'volumes: ["./d:/d", "v:/d/v"]',
  'volumes: [./d:/d:rw]',
  'volumes: [./d:/d], read_only: true',
])('a mounted file that holds a secret is left to decide where compose cannot copy it: %s', (service) => {
  const { undecided, secrets } = resultOf({
    'compose.yaml': `services: {a: {image: x, ${service}}}\nvolumes: {v: }\n`,
    ...{ k: key.k, 'd/k.conf': key.k },
  });
  expect(undecided).toContainEqual(expect.stringMatching(/(k|d\/k\.conf) holds a secret, and does not come along → /));
  expect(secrets).toEqual([]);
});

it('a mounted directory with secrets is mounted file by file', () => {
  const mount = 'volumes: ["./tls:/etc/tls/:ro"]';
  const files = {
    'compose.yaml': `services: {a: {image: x, ${mount}}, b: {image: x, ${mount}}}\n`,
    ...{ 'tls/a.crt': 'x', 'tls/a.key': key.k, 'tls/b/.pgpass': '# host\ndb:5432:*:u:hunter2\n' },
  };
  expect(resultOf(files, { variables: new Map([['tls/a.key', null]]) }).copies).toContain('tls/a.key');
  const found = resultOf(files);
  expect(found).toMatchObject({
    a: {
      volumes: ['./tls/a.crt:/etc/tls/a.crt:ro'],
      secrets: [
        { source: 'tls-a.key', target: '/etc/tls/a.key' },
        { source: 'tls-b-.pgpass', target: '/etc/tls/b/.pgpass' },
      ],
    },
    top: { secrets: { 'tls-a.key': { environment: 'TLS_A_KEY' } } },
    ...{ secrets: ['TLS_A_KEY', 'TLS_B__PGPASS'], copies: ['tls/a.crt'], undecided: [] },
  });
  expect(found.changes).toContainEqual(
    expect.stringMatching(
      /^service b: volumes: \.\/tls is mounted file by file \(files: 1\), with secrets: tls-a\.key of/,
    ),
  );
});

it('a file that only a comment names has no values of secrets', () => {
  const text = '# copy .env.example\nservices: {a: {image: x, environment: {P: "${DB_PASSWORD}"}}}\n';
  const found = importedBundle({ 'compose.yaml': text, '.env.example': 'DB_PASSWORD=changeme\n' });
  expect([...found.secretSources]).toEqual([]);
});

it('the file with the values of secrets is known: an env file, or the file itself', () => {
  const { secretSources } = importedBundle({
    'compose.yaml':
      'services: {a: {image: x, command: $A_TOKEN, env_file: e.env, environment: {B_TOKEN: x, C_TOKEN: def}}}\nsecrets: {s: {file: ./s}}\n',
    ...{ '.env': 'A_TOKEN=abc\n', 'e.env': 'C_TOKEN=def\n' },
  });
  const named = (name: string) => secretSources.get(name);
  expect([named('A_TOKEN'), named('B_TOKEN'), named('C_TOKEN'), named('S')]).toEqual([
    ...[
      { path: '.env', isEnvFile: true },
      undefined,
      { path: 'e.env', isEnvFile: true },
      { path: './s', isEnvFile: false },
    ],
  ]);
});
