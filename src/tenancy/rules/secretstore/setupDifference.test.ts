import { authMethod, desiredObjects, secretsEngine, type SetupObject } from './desiredSetup.ts';
import { differenceOf, formatDifference } from './setupDifference.ts';

const issuer = 'https://tenancy.example';
const byUrl = { issuer, keys: { jwksUrl: `${issuer}/.well-known/jwks.json`, jwksCa: 'PEM\n' } };
const object: SetupObject = { name: 'role x', path: 'auth/x', fields: { list: ['a'], ttl: 3600 } };

const configOf = (terms: Parameters<typeof desiredObjects>[0]) => desiredObjects(terms, 'a-1')[0]!;

describe('what is desired', () => {
  it('lets hosts read the secrets of their own env, by the accessor of the mount', () => {
    const policy = desiredObjects(byUrl, 'auth_jwt_1').find(({ name }) => name === 'policy deployd-agent');
    expect(policy?.fields['policy']).toContain(
      'path "deployd/data/{{identity.entity.aliases.auth_jwt_1.metadata.env}}/see/*" {\n  capabilities = ["read"]\n}',
    );
  });

  it('lets the service write secrets, and read none', () => {
    const policy = desiredObjects(byUrl, 'a-1').find(({ name }) => name === 'policy deployd-tenancy-service');
    expect(String(policy?.fields['policy']).split('\n').slice(1)).toEqual([
      ...['', 'path "deployd/data/+/see/*" {', '  capabilities = ["create", "update"]', '}'],
      ...['', 'path "deployd/metadata/+/see/*" {', '  capabilities = ["read", "list", "delete"]', '}'],
      ...['', 'path "auth/token/lookup" {', '  capabilities = ["update"]', '}'],
      ...['', 'path "auth/token/revoke-accessor" {', '  capabilities = ["update"]', '}', ''],
    ]);
  });

  it('has the keys fetched, or copied', () => {
    expect(configOf(byUrl)).toMatchObject({
      fields: { jwks_url: `${issuer}/.well-known/jwks.json`, jwks_ca_pem: 'PEM', jwt_validation_pubkeys: [] },
      remedy: expect.stringContaining('--static-keys') as string,
    });
    const copied = configOf({ issuer, keys: { publicKeys: ['ONE\n', 'TWO'] } });
    expect(copied.fields).toMatchObject({ jwks_url: '', jwks_ca_pem: '', jwt_validation_pubkeys: ['ONE', 'TWO'] });
    expect(copied.remedy).toBeUndefined();
  });

  it('writes each role after its policy', () => {
    const names = desiredObjects(byUrl, 'a-1').map(({ name }) => name);
    expect(names.indexOf('role deploy-agent')).toBeGreaterThan(names.indexOf('policy deployd-agent'));
    expect(names.indexOf('role tenancy-service')).toBeGreaterThan(names.indexOf('policy deployd-tenancy-service'));
    expect([secretsEngine.path, authMethod.path]).toEqual(['sys/mounts/deployd', 'sys/auth/jwt-tenancy']);
  });
});

describe('a difference', () => {
  it('is none for an object as desired, whatever else it has', () => {
    expect(differenceOf(object, { list: ['a'], ttl: 3600, bound_cidrs: ['10.0.0.0/8'] })).toBeNull();
  });

  it('is a missing object', () => {
    const difference = differenceOf(object, null);
    expect(difference).toEqual({ name: 'role x', kind: 'missing' });
    expect(formatDifference(difference!)).toEqual(['+ role x']);
  });

  it('is each field that differs', () => {
    const difference = differenceOf(object, { list: ['a', 'b'] });
    expect(formatDifference(difference!)).toEqual(['~ role x', '    list: ["a","b"] → ["a"]', '    ttl: null → 3600']);
  });
});
