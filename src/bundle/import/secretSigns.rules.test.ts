import { holdsSecret, isNoSecretValue, isSecretName, isSecretValue, secretPartsIn } from './secretSigns.rules.ts';

it.each(
  (
    'POSTGRES_PASSWORD DB_PASS DBPASS MYSQL_PWD PGPASSWORD adminPassword API_KEY APIKEY SECRET_KEY_BASE JWT_SECRET AUTH_TOKEN ' +
    'TOKEN NEO4J_AUTH SENTRY_DSN PASSWORD_SALT AWS_ACCESS_KEY_ID AWS_CREDENTIALS APP_KEY BOT_TOKENS SSH_PRIVATE_KEY some.password'
  ).split(' '),
)('%s is the name of a secret', (name) => {
  expect(isSecretName(name)).toBe(true);
});

it.each(
  (
    'KEYCLOAK_USER KEYMAP PUBLIC_KEY POSTGRES_PASSWORD_FILE TOKEN_TTL AUTH_ENABLED POSTGRES_HOST_AUTH_METHOD COMPASS BYPASS ' +
    'PWD PATH AUTHOR SECRET_NAME PASSWORD_MIN_LENGTH MONKEY_COUNT TAG DATABASE_URL TOKENIZER OAUTH_CLIENT'
  ).split(' '),
)('%s is not', (name) => {
  expect(isSecretName(name)).toBe(false);
});

it.each([
  'postgres://app:hunter2@db/app',
  'redis://:hunter2@cache:6379',
  '-----BEGIN RSA PRIVATE KEY-----\nMII',
  'f3a9c1e07b264d5889aa0b1c2d3e4f50',
  'Zm9vYmFyMTIzNDU2Nzg5MGFiY2RlZg==',
])('%j looks like a secret', (value) => {
  expect(isSecretValue(value)).toBe(true);
});

it.each([
  'postgres://db/app',
  'postgres://app:${DB_PASSWORD}@db/app',
  'https://example.org:8443/a@b',
  'registry.example/team/project-name:1.2.3',
  'my-very-long-service-name-in-production-2',
  'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa1',
  '-----BEGIN PUBLIC KEY-----',
])('%j does not', (value) => {
  expect(isSecretValue(value)).toBe(false);
});

it.each(['', 'true', 'no', '0', 'none', '/run/secrets/db', './x'])('%j is not one, whatever its name', (value) => {
  expect(isNoSecretValue(value)).toBe(true);
});

it.each(['MY_KEY_', '_TOKEN', 'ACCESSKEY_ID', 'ACCESSTOKEN', 'ACCESS_KEY_ID', 'XPASS', 'DSN'])(
  '%s is the name of one too',
  (name) => {
    expect(isSecretName(name)).toBe(true);
  },
);

it.each([
  'FTP_PASSIVE',
  'MYTOKEN_X',
  'MYAPIKEY_X',
  'APIKEYRING_X',
  'MONKEY',
  'TOKEN_PREFIX',
  'SECRET_ENDPOINT',
  'PASSWORD_POLICY',
  'TOKEN_SCOPES',
  'KEYS_FOUND',
  'MYPWD',
])('%s is not one either', (name) => {
  expect(isSecretName(name)).toBe(false);
});

it('a long text is random by its letters, digits and their number', () => {
  const random = 'f3a9c1e07b264d5889aa0b1c2d3e4f50';
  expect([random, 'a1b2c3d4e5f6g7h8i9j0-xyz'].map(isSecretValue)).toEqual([true, true]);
  const plain = [`see ${random}`, `${random} and more`, 'abcdefghijklmnopqrstuvwxyz', '01234567890123456789+=+=/'];
  expect([...plain, 'abcde12345abcde12345abcde12345'].map(isSecretValue)).toEqual(Array(5).fill(false));
});

const abc = 'aB3dE5gH7jK9mN1pQ3sT5vW7yZ9bC2eF4hJ6kL8nP0rS2uV4xY6zA8cD1fG3iJ5lM7oQ9'.repeat(3);
const jwt = `eyJ${abc.slice(0, 33)}.eyJ${abc.slice(0, 40)}.${abc.slice(0, 43)}`;
const pem = '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----';
/** A text with the names of its secrets in their places. */
const marked = (text: string) =>
  secretPartsIn(text).reduceRight(
    (all, { start, end, name }) => `${all.slice(0, start)}<${name}>${all.slice(end)}`,
    text,
  );

it.each([
  ['redis-server --requirepass hunter2 --appendonly yes', 'redis-server --requirepass <REQUIREPASS> --appendonly yes'],
  ['redis-server --requirepass "hunter2"', 'redis-server --requirepass "<REQUIREPASS>"'],
  ['redis-server --masterauth=hunter2', 'redis-server --masterauth=<MASTERAUTH>'],
  ['redis-cli -h r -a hunter2 ping', 'redis-cli -h r -a <REDIS_PASSWORD> ping'],
  ['mysqladmin ping -uroot -phunter2 || exit 1', 'mysqladmin ping -uroot -p<MYSQL_PASSWORD> || exit 1'],
  ["mysqladmin ping --password='hunter2'", "mysqladmin ping --password='<PASSWORD>'"],
  ['mongosh -u root -p hunter2', 'mongosh -u root -p <MONGO_PASSWORD>'],
  ['/opt/sqlcmd -U sa -P "Hunter2!" -Q "SELECT 1"', '/opt/sqlcmd -U sa -P "<MSSQL_PASSWORD>" -Q "SELECT 1"'],
  ['mc alias set m http://m:9000 user hunter2;', 'mc alias set m http://m:9000 user <MINIO_PASSWORD>;'],
  ['curl -fsu user:hunter2 http://x', 'curl -fsu user:<CURL_PASSWORD> http://x'],
  ['curl -f -u user:hunter2 http://x', 'curl -f -u user:<CURL_PASSWORD> http://x'],
  ['curl -H "Authorization: Bearer abcdefgh"', 'curl -H "Authorization: Bearer <AUTHORIZATION>"'],
  ['curl -H "X-Api-Key: abcdefgh"', 'curl -H "X-Api-Key: <API_KEY>"'],
  ['PGPASSWORD=hunter2 psql -h db', 'PGPASSWORD=<PGPASSWORD> psql -h db'],
  ['java -Dspring.datasource.password=hunter2', 'java -Dspring.datasource.password=<DSPRING_DATASOURCE_PASSWORD>'],
  ['Server=db;User=sa;Password=hunter2;Encrypt=1', 'Server=db;User=sa;Password=<PASSWORD>;Encrypt=1'],
  ['postgres://app:hunter2@${HOST}/db', 'postgres://app:<POSTGRES_PASSWORD>@${HOST}/db'],
  ['see https://u:hunter2@h/x', 'see https://u:<URL_PASSWORD>@h/x'],
  [`deploy ${jwt} now`, 'deploy <JWT> now'],
  [`key: |\n${pem}\n`, 'key: |\n<PRIVATE_KEY>\n'],
  ['users=a:$$apr1$$abcdefgh$$0123456789abcdefghijkl', 'users=a:<PASSWORD_HASH>'],
  [`a:$$2y$$05$$${abc.slice(0, 53)},b`, 'a:<PASSWORD_HASH>,b'],
])('%s: the secrets are %s', (text, expected) => {
  expect(marked(text)).toBe(expected);
});

it.each([
  ...[`ghp_${abc.slice(0, 36)}`, `github_pat_${abc.slice(0, 82)}`, `glpat-${abc.slice(0, 20)}`],
  ...['AKIAJKLMNOPQRSTUVWX2', `AIza${abc.slice(0, 35)}`, `xoxb-1234567890-${abc.slice(0, 24)}`],
  ...[
    `sk_live_${abc.slice(0, 24)}`,
    `SG.${abc.slice(0, 66)}`,
    `hvs.${abc.slice(0, 95)}`,
    `dckr_pat_${abc.slice(0, 27)}`,
  ],
  ...[
    `123456789:A${abc.slice(0, 34)}`,
    `sk-proj-${abc.slice(0, 20)}T3BlbkFJ${abc.slice(0, 20)}`,
    `npm_${abc.slice(0, 36)}`,
  ],
])('the token %s is one in a text, and its placeholder is not', (token) => {
  expect(secretPartsIn(`run --x ${token}, now`)).toMatchObject([{ start: 8, end: 8 + token.length }]);
  expect(secretPartsIn(`run --x ${token.replace(/[A-Za-z0-9]/g, 'x')}`)).toEqual([]);
});

it.each([
  ...[
    'redis-server --requirepass ${PW}',
    'redis-server --requirepass "$$PW"',
    'x --password="$(cat /f)"',
    'x --token $1',
  ],
  ...[
    'x --password-file /f --token-ttl 3600',
    'vllm --max-num-batched-tokens 2048',
    'x --api-key-header X',
    'x --secret',
  ],
  ...[
    'x --password <password>',
    'x --password=true',
    'x --tls-key /k --auth none',
    'mysql -h db -P 3306 -p',
    'redis-cli ping',
  ],
  ...[
    'http://localhost:8080/a@b',
    'http://u:$P@h',
    'curl http://x -u $U:$P',
    'PASSWORD=$$X y',
    'docker login --password-stdin r',
    'until (mc alias set m http://m:9000) do sleep 1; done',
  ],
])('%s has no secret', (text) => {
  expect(marked(text)).toBe(text);
});

it.each([
  ['redis.conf', 'port 1\nrequirepass hunter2\n', true],
  ['redis.conf', '# requirepass hunter2\n', false],
  ['a.yaml', 'db:\n  password: hunter2\n', true],
  ['a.yaml', 'db:\n  password: ${PW}\n  password_file: /f\n', false],
  ['a.json', '{"user": "a",\n "password": "hunter2"}', true],
  ['de.json', '{"password": "Password", "new_password": "Your new password"}', false],
  ['a.ini', '[smtp]\npassword = hunter2\n', true],
  ['init.sql', "CREATE USER a WITH PASSWORD 'hunter2';", true],
  ['init.sql', "CREATE USER a IDENTIFIED BY 'hunter2';", true],
  ['init.sql', "ALTER USER a WITH PASSWORD :'pgpass';", false],
  ['main.py', 'password = hunter2\n', false],
  ['main.py', 'x = "postgres://a:hunter2@db/x"\n', true],
  ['.htpasswd', `a:$2y$05$${abc.slice(0, 53)}\n`, true],
  ['k.pem', pem, true],
  ['secrets/db_password.txt', 'hunter2\n', true],
  ['.pgpass', '# a\ndb:5432:*:u:hunter2\n', true],
  ['token', '', false],
  ['authorized_keys', 'ssh-ed25519 AAAAC3 a@b\n', false],
  ['password.conf', 'on\n', false],
  ['README.md', 'Set `postgres://a:hunter2@db/x`.\n', false],
  ['a.js', 'x = "postgres://user:pass@localhost/x"\n', false],
  ['c.pem', '-----BEGIN CERTIFICATE-----\nMIIE\n', false],
])('%s with %j holds a secret: %s', (path, text, expected) => {
  expect(holdsSecret(path, text)).toBe(expected);
});
