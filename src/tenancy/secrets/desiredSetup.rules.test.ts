import { authMethod, desiredObjects, secretsEngine, type SetupTerms } from './setup.rules.ts';

const issuer = 'https://tenancy.example';
const jwksUrl = `${issuer}/.well-known/jwks.json`;
const byUrl = { issuer, keys: { jwksUrl, jwksCa: 'PEM\n' } };

/** The objects by their names, for the accessor `a-1`. */
const objectsOf = (terms: SetupTerms) =>
  Object.fromEntries(desiredObjects(terms, 'a-1').map(({ name, ...object }) => [name, object]));

it('mounts versioned secrets, and the method by which hosts and the service log in', () => {
  expect([secretsEngine, authMethod]).toEqual([
    {
      name: 'secrets engine deployd',
      list: 'sys/mounts',
      key: 'deployd/',
      path: 'sys/mounts/deployd',
      fields: { type: 'kv', options: { version: '2' } },
    },
    {
      name: 'auth method jwt-tenancy',
      list: 'sys/auth',
      key: 'jwt-tenancy/',
      path: 'sys/auth/jwt-tenancy',
      fields: { type: 'jwt' },
    },
  ]);
});

it('lets hosts read the secrets of their own env, by the accessor of the mount', () => {
  const { path, fields } = objectsOf(byUrl)['policy deployd-agent'] ?? {};
  expect(path).toBe('sys/policies/acl/deployd-agent');
  expect(String(fields?.['policy']).split('\n')).toEqual([
    '# Written by `deployd-tenancy secretstore apply`.',
    '',
    'path "deployd/data/{{identity.entity.aliases.a-1.metadata.env}}/see/*" {',
    '  capabilities = ["read"]',
    '}',
    '',
  ]);
});

it('lets the service write secrets, and read none', () => {
  const { path, fields } = objectsOf(byUrl)['policy deployd-tenancy-service'] ?? {};
  expect(path).toBe('sys/policies/acl/deployd-tenancy-service');
  expect(String(fields?.['policy']).split('\n').slice(1)).toEqual([
    ...['', 'path "deployd/data/+/see/*" {', '  capabilities = ["create", "update"]', '}'],
    ...['', 'path "deployd/metadata/+/see/*" {', '  capabilities = ["read", "list", "delete"]', '}'],
    ...['', 'path "auth/token/lookup" {', '  capabilities = ["update"]', '}'],
    ...['', 'path "auth/token/revoke-accessor" {', '  capabilities = ["update"]', '}', ''],
  ]);
});

const anyRole = {
  role_type: 'jwt',
  user_claim: 'sub',
  bound_audiences: ['secretstore'],
  clock_skew_leeway: 180,
  token_type: 'service',
};

it('lets hosts log in for a week, a month at most, with env and generation in the metadata of their alias', () => {
  expect(objectsOf(byUrl)['role deploy-agent']).toEqual({
    path: 'auth/jwt-tenancy/role/deploy-agent',
    fields: {
      ...anyRole,
      token_policies: ['deployd-agent'],
      claim_mappings: { sub: 'backend', env: 'env', gen: 'gen' },
      token_ttl: 7 * 24 * 3600,
      token_max_ttl: 30 * 24 * 3600,
      token_no_default_policy: false,
    },
  });
});

it('lets the service alone log in as the service, for an hour and with its own policy only', () => {
  expect(objectsOf(byUrl)['role tenancy-service']).toEqual({
    path: 'auth/jwt-tenancy/role/tenancy-service',
    fields: {
      ...anyRole,
      token_policies: ['deployd-tenancy-service'],
      bound_subject: 'tenancy-service',
      token_ttl: 3600,
      token_max_ttl: 3600,
      token_no_default_policy: true,
    },
  });
});

it.each<[string, SetupTerms['keys'], object]>([
  ['fetched by a private authority', byUrl.keys, { jwks_url: jwksUrl, jwks_ca_pem: 'PEM', jwt_validation_pubkeys: [] }],
  ['fetched', { jwksUrl, jwksCa: null }, { jwks_url: jwksUrl, jwks_ca_pem: '', jwt_validation_pubkeys: [] }],
  [
    'copied',
    { publicKeys: ['ONE\n', 'TWO'] },
    { jwks_url: '', jwks_ca_pem: '', jwt_validation_pubkeys: ['ONE', 'TWO'] },
  ],
])('accepts what the issuer signs with ES256, by keys that are %s', (_how, keys, fields) => {
  expect(objectsOf({ issuer, keys })['configuration of jwt-tenancy']).toMatchObject({
    path: 'auth/jwt-tenancy/config',
    fields: { ...fields, bound_issuer: issuer, jwt_supported_algs: ['ES256'] },
  });
});

it('tells what to do where the keys cannot be fetched', () => {
  const remedyFor = (keys: SetupTerms['keys']) => objectsOf({ issuer, keys })['configuration of jwt-tenancy']?.remedy;
  expect(remedyFor(byUrl.keys)).toMatch(/must reach https:\/\/tenancy\.example\/.*--jwks-ca.*--static-keys/);
  expect(remedyFor({ publicKeys: [] })).toBeUndefined();
});

it('writes each role after its policy', () => {
  const names = desiredObjects(byUrl, 'a-1').map(({ name }) => name);
  expect(names.indexOf('role deploy-agent')).toBeGreaterThan(names.indexOf('policy deployd-agent'));
  expect(names.indexOf('role tenancy-service')).toBeGreaterThan(names.indexOf('policy deployd-tenancy-service'));
});
