import { parseLeaseResponse } from './lease.rules.ts';

const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';
const validLease = {
  method: 'jwt',
  mount: 'jwt-tenancy',
  role: 'deploy-apply',
  jwt,
  expires_at: '2026-11-21T13:00:00Z',
};

test('parses a JWT lease and ignores unknown fields', () => {
  expect(parseLeaseResponse({ lease: { ...validLease, note: null, policies: ['a'] } })).toEqual({
    lease: { role: 'deploy-apply', jwt, expiresAt: '2026-11-21T13:00:00Z' },
  });
});

it.each(['2026-11-21T13:00:00.123456789Z', '2026-11-21T13:00:00+05:30', '2026-11-21T13:00:00.5-11:45'])(
  'takes the time %s',
  (expiresAt) => {
    expect(parseLeaseResponse({ lease: { ...validLease, expires_at: expiresAt } })).toMatchObject({
      lease: { expiresAt },
    });
  },
);

const deep = () => {
  let value: object = { secret_id: 'canary' };
  for (let depth = 0; depth < 100_000; depth++) value = { inner: value };
  return value;
};

it.each<[string, unknown]>([
  ['an AppRole lease', { lease: { method: 'approle', role_id: 'canary', secret_id: 'canary' } }],
  ['a valid lease with a secret id', { lease: { ...validLease, secret_id: 'canary' } }],
  ['a role id alone', { lease: { ...validLease, role_id: null } }],
  ['camel case', { lease: { ...validLease, secretId: 'canary' } }],
  ['capitals', { lease: { ...validLease, SECRET_ID: 'canary' } }],
  ['dashes', { lease: { ...validLease, 'Secret-Id-Accessor': 'canary' } }],
  ['a wrapped secret id', { lease: { ...validLease, wrapped_secret_id: 'canary' } }],
  ['a wrapping token', { lease: { ...validLease, wrapping_token: 'canary' } }],
  ['a wrap token', { lease: { ...validLease, wrapToken: 'canary' } }],
  ['a wrapped response', { request_id: '', wrap_info: { token: 'canary' }, lease: validLease }],
  ['an unwrap step', { lease: { ...validLease, unwrap_path: 'canary' } }],
  ['the method', { lease: { ...validLease, method: 'approle' } }],
  ['the method by its other names', { lease: { ...validLease, auth_method: 'AppRole' } }],
  ['the type', { lease: { ...validLease, type: 'app_role' } }],
  ['the kind', { lease: { ...validLease, kind: 'app-role' } }],
  ['the mount', { lease: { ...validLease, mount: 'approle' } }],
  ['a path', { lease: { ...validLease, path: 'v1/auth/approle/login' } }],
  ['the mount as a path', { lease: { ...validLease, mount: 'auth/AppRole' } }],
  ['a field in a list', { lease: { ...validLease, alternatives: [[{ secret_id: 'canary' }]] } }],
  ['a field outside the lease', { lease: validLease, auth: { secret_id: 'canary' } }],
  ['a response without a lease', [{ secret_id: 'canary' }]],
  ['a deeply nested field', { lease: { ...validLease, more: deep() } }],
])('%s is LEASE_SHAPE before any other error', (_title, json) => {
  const parsed = parseLeaseResponse(json);
  expect(parsed).toMatchObject({ fault: { ending: 'refused', code: 'LEASE_SHAPE' } });
  const { message } = (parsed as { fault: Error }).fault;
  expect(message).toMatch(/^refused: LEASE_SHAPE: the lease has the AppRole shape \(.+\); JWT is required$/);
  expect(message).not.toContain('canary');
});

it.each<[string, unknown, string]>([
  ['nothing', undefined, 'the answer is not a JSON object'],
  ['no lease', {}, 'field lease is missing'],
  ['a number as method', { lease: { ...validLease, method: 5 } }, 'field lease.method is empty or not a string'],
  ['another method', { lease: { ...validLease, method: 'oidc' } }, 'field lease.method is not jwt'],
  ['another mount', { lease: { ...validLease, mount: 'jwt-other' } }, 'field lease.mount is not jwt-tenancy'],
  ['no role', { lease: { ...validLease, role: undefined } }, 'field lease.role is missing'],
  ['no JWT', { lease: { ...validLease, jwt: undefined } }, 'field lease.jwt is missing'],
  ['half a JWT', { lease: { ...validLease, jwt: 'canary.canary' } }, 'field lease.jwt is not a JWT'],
  ['a JWT after more', { lease: { ...validLease, jwt: `canary ${jwt}` } }, 'field lease.jwt is not a JWT'],
  ['a JWT with a tail', { lease: { ...validLease, jwt: `${jwt}\ncanary` } }, 'field lease.jwt is not a JWT'],
  ['a number as time', { lease: { ...validLease, expires_at: '1' } }, 'field lease.expires_at is not a time'],
  [
    'a time without a zone',
    { lease: { ...validLease, expires_at: '2026-11-21T13:00:00' } },
    'field lease.expires_at is not a time',
  ],
  [
    'a time of a long year',
    { lease: { ...validLease, expires_at: '+002026-11-21T13:00:00Z' } },
    'field lease.expires_at is not a time',
  ],
  ['no time', { lease: { ...validLease, expires_at: 'tomorrow' } }, 'field lease.expires_at is not a time'],
])('%s is PROTOCOL_INVALID with the name of the field', (_title, json, words) => {
  const parsed = parseLeaseResponse(json);
  expect(parsed).toMatchObject({ fault: { ending: 'failed', message: `PROTOCOL_INVALID: lease: ${words}` } });
});
