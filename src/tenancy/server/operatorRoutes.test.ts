import { sql } from 'kysely';
import { createMemorySecretstore } from '../../../fixtures/world/tenancy/memoryPeers.ts';
import { addOperator, type OperatorClient } from '../../../fixtures/world/tenancy/operatorClient.ts';
import { type Service, startService } from '../../../fixtures/world/tenancy/service.ts';
import type { ErrorBody } from '../../api/commonSchemas.ts';
import { PeerError } from '../peers/bundleStorage.ts';
import { operatorRoutes } from './operatorRoutes.ts';

/** A secretstore that returns extra fields, is sealed for one environment and one key, and has a bug for another. */
const secretstore = {
  ...createMemorySecretstore(),
  listSecrets: async (env: string) => {
    if (env === 'us') throw new PeerError('secretstore', 'sealed', 7);
    return [{ key: 'one', version: 1, data: 'x' }];
  },
  writeSecret: async ({ key }: { key: string }) => {
    if (key === 'sealed') throw new PeerError('secretstore', 'sealed', 7);
    throw new Error('secret value');
  },
};

let service: Service;
let operators: Record<'admin' | 'viewer' | 'limited', OperatorClient>;
beforeAll(async () => {
  service = await startService({ deps: { secretstore } });
  const admin = await addOperator(service);
  for (const name of ['eu-1', 'us']) await admin.call('POST envs', { name, production: false });
  operators = {
    admin,
    viewer: await addOperator(service, 'viewer'),
    limited: await addOperator(service, 'admin', ['eu-1']),
  };
});
afterAll(() => service.stop());

const json = (body: unknown, method = 'POST') => ({ method, body: JSON.stringify(body), type: 'application/json' });
const newEnv = (fields: object = {}) => json({ name: 'eu-1', production: false, ...fields });
const secret = json({ data: { value: 'x' } }, 'PUT');

async function send(
  path: string,
  {
    as = 'admin',
    bearer,
    type,
    ...init
  }: RequestInit & Partial<{ as: keyof typeof operators; bearer: string; type: string }> = {},
) {
  const headers = {
    authorization: `Bearer ${bearer ?? operators[as].token}`,
    ...(type && { 'content-type': type }),
    'x-request-id': 'tick-1',
  };
  const response = await fetch(service.url + path, { headers, ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as never };
}

it('returns exactly the fields of the schema', async () => {
  expect((await send('/v1/envs/eu-1/secrets')).body).toMatchObject({
    secrets: [{ key: 'one', version: 1 }],
  });
  await send('/v1/envs', newEnv({ name: 'gone' }));
  expect(await send('/v1/envs/gone', { method: 'DELETE' })).toMatchObject({ status: 204, body: null });
});

const bundles = `/v1/bundles?sha256=${'0'.repeat(64)}`;
const badName = json({ name: 'a\u0000', role: 'viewer', envs: null });
const parse = (text: string) => JSON.parse(text) as object;
const builder = '{"constructor": {"prototype": {}}}';
const badSecret = json({ data: parse('{"__proto__": "x"}') }, 'PUT');
const octets = { ...newEnv(), type: 'application/octet-stream' };
it.each([
  ['no bearer', '/v1/envs', { bearer: '' }, 401, 'UNAUTHENTICATED', /bearer/],
  ['an unknown bearer', '/v1/envs', { bearer: 'dpo_x' }, 401, 'UNAUTHENTICATED', /bearer/],
  ['a role that is too low', '/v1/envs', { as: 'viewer', ...newEnv() }, 403, 'FORBIDDEN', /role admin/],
  ['another environment', '/v1/envs/us', { as: 'limited' }, 404, 'ENV_NOT_FOUND', /no such environment/],
  ['a token for some environments', '/v1/operators', { as: 'limited' }, 403, 'FORBIDDEN', /some environments/],
  ['a query of another type', '/v1/audit?limit=many', {}, 400, 'REQUEST_INVALID', /querystring.limit/],
  ['a query beyond its range', '/v1/audit?limit=501', {}, 400, 'REQUEST_INVALID', /querystring.limit/],
  ['an unknown query', '/v1/audit?token=x', {}, 400, 'REQUEST_INVALID', /"token"/],
  ['a field of another type', '/v1/envs', newEnv({ name: 7 }), 400, 'REQUEST_INVALID', /body.name/],
  ['an unknown field', '/v1/envs', newEnv({ more: 1 }), 400, 'REQUEST_INVALID', /"more"/],
  ['a field __proto__', '/v1/envs', newEnv(parse('{"__proto__": {}}')), 400, 'REQUEST_INVALID', /field "__proto__"/],
  ['a constructor', '/v1/envs', newEnv(parse(builder)), 400, 'REQUEST_INVALID', /field "constructor"/],
  ['a value named __proto__', '/v1/envs/eu-1/secrets/x', badSecret, 400, 'REQUEST_INVALID', /body.data .*"__proto__"/],
  ['a control character', '/v1/operators', badName, 400, 'REQUEST_INVALID', /body.name/],
  ['a malformed parameter', '/v1/envs/EU', {}, 400, 'REQUEST_INVALID', /params.env/],
  [
    'an unknown choice',
    '/v1/backends?sort=name',
    {},
    400,
    'REQUEST_INVALID',
    /\.sort must be one of id, host_name, site, state, /,
  ],
  ['an unknown state', '/v1/backends?state=up', {}, 400, 'REQUEST_INVALID', /\.state must be one or more of created, /],
  [
    'a malformed cursor',
    '/v1/backends?after=x',
    {},
    400,
    'REQUEST_INVALID',
    /\.after must be `next` of the previous page/,
  ],
  ['a search in two lines', '/v1/backends?q=a%0Ab', {}, 400, 'REQUEST_INVALID', /\.q must be one line without/],
  ['invalid JSON', '/v1/envs', { ...newEnv(), body: '{' }, 400, 'REQUEST_INVALID', /JSON/],
  ['a body of another type than octets', bundles, { method: 'PUT' }, 400, 'REQUEST_INVALID', /body must be/],
  ['another media type', '/v1/envs', { ...newEnv(), type: 'text/plain' }, 415, 'MEDIA_TYPE_UNSUPPORTED', /Media/],
  ['octets for JSON', '/v1/envs', octets, 415, 'MEDIA_TYPE_UNSUPPORTED', /./],
  ['a huge body', '/v1/envs', newEnv({ name: 'x'.repeat(2e6) }), 413, 'REQUEST_TOO_LARGE', /large/],
  ['a conflict', '/v1/envs', newEnv(), 409, 'ENV_EXISTS', /./],
  ['a peer that is down', '/v1/envs/eu-1/secrets/sealed', secret, 503, 'PEER_UNAVAILABLE', /the secretstore/],
  ['a bug', '/v1/envs/eu-1/secrets/defect', secret, 500, 'INTERNAL', /unexpected/],
  ['an unknown path', '/v1/nothing', { method: 'POST', body: 'x' }, 404, 'NOT_FOUND', /resource/],
  ['another method', '/v1/envs', { method: 'PATCH', body: 'x' }, 405, 'METHOD_NOT_ALLOWED', /GET/],
] as const)('refuses %s', async (_what, path, init, status, code, message) => {
  const refusal = await send(path, init);
  expect(refusal).toMatchObject({ status, body: { error: { code } } });
  expect((refusal.body as ErrorBody).error.message).toMatch(message);
});

it('has no request body that accepts a field of any name', () => {
  const bodies = operatorRoutes.flatMap(({ url, body }) => (typeof body === 'object' ? [{ url, ...body }] : []));
  const open = bodies.filter((body) => !('additionalProperties' in body && body.additionalProperties === false));
  // Every field of a signature is validated, at any depth, when the signature is added.
  expect(open.map(({ url }) => url)).toEqual(['/v1/bundles/:sha256/signatures']);
});

it('returns the retry time, and the allowed methods', async () => {
  expect((await send('/v1/envs/eu-1/secrets/sealed', secret)).headers.get('retry-after')).toBe('7');
  expect((await send('/v1/envs/eu-1', { method: 'PATCH' })).headers.get('allow')).toBe('GET, HEAD, DELETE');
});

it('writes a bug to the log, and not to the answer', async () => {
  service.log.splice(0);
  const { body } = await send('/v1/envs/eu-1/secrets/defect', secret);
  expect(JSON.stringify(body)).not.toContain('secret value');
  const [defect] = service.log.filter(({ level }) => level === 'error');
  expect(defect?.line).toContain('secret value');
});

const newestActs = async (limit: number) => {
  const { body } = await send(`/v1/audit?limit=${limit}`);
  return (body as { entries: object[] }).entries;
};

it('records refused and failed actions in the audit log: who, what, on which object, from where, why', async () => {
  const before = await newestActs(1);
  await send('/v1/envs', newEnv({ name: 'us' }));
  await send('/v1/envs/gone', { as: 'limited' });
  await send('/v1/envs', newEnv({ name: 7 }));
  await send('/v1/envs/eu-1/secrets/sealed', secret);
  await send('/v1/envs/eu-1/secrets/defect', secret);
  await send('/v1/envs/us/secrets');
  const from = { address: '127.0.0.1', request_id: 'tick-1' };
  const admin = { ...from, actor: operators.admin.name, env: 'eu-1' };
  const path = (key: string) => `deployd/data/eu-1/see/${key}`;
  expect(await newestActs(7)).toMatchObject([
    { ...admin, act: 'secret.set', target: path('defect'), result: 'INTERNAL' },
    { ...admin, act: 'secret.set', target: path('defect'), result: 'started' },
    { ...admin, act: 'secret.set', target: path('sealed'), result: 'PEER_UNAVAILABLE' },
    { ...admin, act: 'secret.set', target: path('sealed'), result: 'started' },
    { ...from, actor: operators.limited.name, act: 'env.read', target: 'gone', env: 'gone', result: 'FORBIDDEN' },
    { ...admin, act: 'env.create', target: 'us', env: 'us', result: 'ENV_EXISTS' },
    ...before,
  ]);
});

it('returns the reason of a failed action, and does not refuse it, if the audit log cannot be written', async () => {
  const { store } = service.deps;
  const when = `before insert on audit when new.result <> 'started'`;
  await sql.raw(`create trigger audit_full ${when} begin select raise(abort, 'full'); end`).execute(store);
  const failed = await send('/v1/envs/eu-1/secrets/sealed', secret);
  const refused = await send('/v1/envs', { as: 'viewer', ...newEnv({ name: 'us' }) });
  await sql.raw('drop trigger audit_full').execute(store);
  expect(failed).toMatchObject({ status: 503, body: { error: { code: 'PEER_UNAVAILABLE' } } });
  expect(service.log.map(({ line }) => line)).toContainEqual(
    expect.stringContaining('a failed act is not in the audit log'),
  );
  expect(refused).toMatchObject({ status: 500, body: { error: { code: 'INTERNAL' } } });
});
