import { isNoSecretValue, isSecretName, isSecretValue } from './importWork.rules.ts';

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
