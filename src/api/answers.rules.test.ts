import { parseCheckInResponse, parseLeaseResponse } from './answers.rules.ts';

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

const sha = '0123456789abcdef'.repeat(4);
const none = { action: 'none', env: 'eu-1', backend_id: 'b-1', production: false, desired_sha: null };
const apply = { ...none, action: 'apply', desired_sha: sha, bundle: { sha256: sha, size_bytes: 42 } };

test('parses a response and ignores unknown fields', () => {
  expect(
    parseCheckInResponse({
      ...apply,
      purge_volumes: true,
      colour: 'blue',
      bundle: { ...apply.bundle, emergency: true, etag: 1 },
    }),
  ).toEqual({
    action: 'apply',
    env: 'eu-1',
    backendId: 'b-1',
    production: false,
    desiredSha: sha,
    sizeBytes: 42,
    emergency: true,
    purgeVolumes: true,
  });
});

test('needs no bundle when there is nothing to do', () => {
  expect(parseCheckInResponse(none)).toMatchObject({
    action: 'none',
    desiredSha: null,
    sizeBytes: 0,
    purgeVolumes: false,
  });
  const down = { ...none, action: 'down', desired_sha: sha, bundle: null, purge_volumes: null };
  expect(parseCheckInResponse(down)).toMatchObject({ action: 'down', purgeVolumes: false });
  const empty = { ...apply, bundle: { sha256: sha, size_bytes: 0 } };
  expect(parseCheckInResponse(empty)).toMatchObject({ action: 'apply', sizeBytes: 0, emergency: false });
});

it.each<[string, unknown, string]>([
  ['no JSON', undefined, 'the answer is not a JSON object'],
  ['a list', [], 'the answer is not a JSON object'],
  ['null', null, 'the answer is not a JSON object'],
  ['no action', { ...none, action: undefined }, 'field action is missing'],
  ['an unknown action', { ...none, action: 'explode' }, 'field action must be apply, none or down'],
  ['an action in capitals', { ...none, action: 'APPLY' }, 'field action must be'],
  ['no env', { ...none, env: undefined }, 'field env is missing'],
  ['a number as env', { ...none, env: 1 }, 'field env is empty or not a string'],
  ['an empty backend', { ...none, backend_id: '' }, 'field backend_id is empty or not a string'],
  ['production as text', { ...none, production: 'false' }, 'field production is not a boolean'],
  ['no desired sha', { ...none, desired_sha: undefined }, 'field desired_sha is missing'],
  ['apply of nothing', { ...apply, desired_sha: null }, 'field desired_sha is empty or not a string'],
  ['a number as sha', { ...none, desired_sha: 1 }, 'field desired_sha is neither a string nor null'],
  ['a sha after more', { ...none, desired_sha: `x${sha}` }, 'field desired_sha is not a lower-case sha256'],
  ['a short sha', { ...none, desired_sha: 'abc' }, 'field desired_sha is not a lower-case sha256'],
  ['a sha in capitals', { ...none, desired_sha: sha.toUpperCase() }, 'field desired_sha is not a lower-case sha256'],
  ['a sha and more', { ...none, desired_sha: `${sha}\n` }, 'field desired_sha is not a lower-case sha256'],
  ['a path as sha', { ...none, desired_sha: '../../etc' }, 'field desired_sha is not a lower-case sha256'],
  ['apply without a bundle', { ...apply, bundle: undefined }, 'field bundle is missing'],
  ['a list as bundle', { ...apply, bundle: [] }, 'field bundle is not an object'],
  ['another bundle', { ...apply, bundle: { sha256: '0'.repeat(64), size_bytes: 1 } }, 'field bundle.sha256 differs'],
  ['a negative size', { ...apply, bundle: { sha256: sha, size_bytes: -1 } }, 'field bundle.size_bytes is not a whole'],
  ['a broken size', { ...apply, bundle: { sha256: sha, size_bytes: 1.5 } }, 'field bundle.size_bytes is not a whole'],
  ['a size as text', { ...apply, bundle: { sha256: sha, size_bytes: '1' } }, 'field bundle.size_bytes is not a whole'],
  ['a purge as text', { ...none, purge_volumes: 'true' }, 'field purge_volumes is not a boolean'],
])('%s is PROTOCOL_INVALID with the name of the field', (_title, json, words) => {
  expect(() => parseCheckInResponse(json)).toThrow(`PROTOCOL_INVALID: check-in: ${words}`);
});
