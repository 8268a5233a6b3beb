import { judgeLease } from './lease.ts';

const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';
const good = { method: 'jwt', mount: 'jwt-tenancy', role: 'deploy-apply', jwt, expires_at: '2026-11-21T13:00:00Z' };

test('a JWT lease is taken, with unknown fields', () => {
  expect(judgeLease({ lease: { ...good, note: 'x', policies: ['a'] } })).toEqual({
    lease: { role: 'deploy-apply', jwt, expiresAt: '2026-11-21T13:00:00Z' },
  });
});

const deep = () => {
  let value: object = { secret_id: 'canary' };
  for (let depth = 0; depth < 100_000; depth++) value = { inner: value };
  return value;
};

it.each<[string, unknown]>([
  ['an AppRole lease', { lease: { method: 'approle', role_id: 'canary', secret_id: 'canary' } }],
  ['a good lease with a secret id', { lease: { ...good, secret_id: 'canary' } }],
  ['a role id alone', { lease: { ...good, role_id: null } }],
  ['camel case', { lease: { ...good, secretId: 'canary' } }],
  ['capitals', { lease: { ...good, SECRET_ID: 'canary' } }],
  ['dashes', { lease: { ...good, 'Secret-Id-Accessor': 'canary' } }],
  ['a wrapped secret id', { lease: { ...good, wrapped_secret_id: 'canary' } }],
  ['a wrapping token', { lease: { ...good, wrapping_token: 'canary' } }],
  ['a wrap token', { lease: { ...good, wrapToken: 'canary' } }],
  ['a wrapped answer', { request_id: '', wrap_info: { token: 'canary' }, lease: good }],
  ['an unwrap step', { lease: { ...good, unwrap_path: 'canary' } }],
  ['the method by its other names', { lease: { ...good, auth_method: 'AppRole' } }],
  ['the type', { lease: { ...good, type: 'app_role' } }],
  ['the kind', { lease: { ...good, kind: 'app-role' } }],
  ['the mount', { lease: { ...good, mount: 'approle' } }],
  ['a path', { lease: { ...good, path: 'v1/auth/approle/login' } }],
  ['the mount as a path', { lease: { ...good, mount: 'auth/AppRole' } }],
  ['something in a list', { lease: { ...good, alternatives: [[{ secret_id: 'canary' }]] } }],
  ['something outside the lease', { lease: good, auth: { secret_id: 'canary' } }],
  ['something that is no lease at all', [{ secret_id: 'canary' }]],
  ['something very deep', { lease: { ...good, more: deep() } }],
])('%s is refused before anything else', (_title, json) => {
  const judged = judgeLease(json);
  expect(judged).toMatchObject({ fault: { ending: 'refused', code: 'LEASE_SHAPE' } });
  const { message } = (judged as { fault: Error }).fault;
  expect(message).toMatch(/^refused: LEASE_SHAPE: the lease has the AppRole shape \(.+\); JWT is wanted$/);
  expect(message).not.toContain('canary');
});

it.each<[string, unknown, string]>([
  ['nothing', undefined, 'the answer is not a JSON object'],
  ['no lease', {}, 'field lease is missing'],
  ['another method', { lease: { ...good, method: 'oidc' } }, 'field lease.method is not jwt'],
  ['another mount', { lease: { ...good, mount: 'jwt-other' } }, 'field lease.mount is not jwt-tenancy'],
  ['no role', { lease: { ...good, role: undefined } }, 'field lease.role is missing'],
  ['no JWT', { lease: { ...good, jwt: undefined } }, 'field lease.jwt is missing'],
  ['half a JWT', { lease: { ...good, jwt: 'canary.canary' } }, 'field lease.jwt is not a JWT'],
  ['a JWT with a tail', { lease: { ...good, jwt: `${jwt}\ncanary` } }, 'field lease.jwt is not a JWT'],
  ['a number as time', { lease: { ...good, expires_at: '1' } }, 'field lease.expires_at is not a time'],
  [
    'a time without a zone',
    { lease: { ...good, expires_at: '2026-11-21T13:00:00' } },
    'field lease.expires_at is not a time',
  ],
  ['no time', { lease: { ...good, expires_at: 'tomorrow' } }, 'field lease.expires_at is not a time'],
])('%s is a fault of the protocol by name', (_title, json, words) => {
  const judged = judgeLease(json);
  expect(judged).toMatchObject({ fault: { ending: 'failed', message: `PROTOCOL_INVALID: lease: ${words}` } });
});
