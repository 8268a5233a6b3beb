import { buffer } from 'node:stream/consumers';
import { startService, type Service } from '../../../fixtures/tenancy/service.ts';
import { Type } from 'typebox';
import { PeerError } from '../adapters/peerError.ts';
import { ApiError } from '../services/apiError.ts';
import type { Operator, RefusedAct } from '../services/operator.ts';
import { answer, noContent, octets, operatorRoute } from './operatorRoute.ts';
import { Body, EnvName, type ErrorBody, Limit, Line } from './schemas/common.ts';

const operators: Record<string, Operator> = {
  dpo_viewer: { id: '1', name: 'vera', role: 'viewer', envs: null },
  dpo_admin: { id: '2', name: 'ada', role: 'admin', envs: null },
  'dpo_eu-1': { id: '3', name: 'eve', role: 'admin', envs: ['eu-1'] },
};

const routes = [
  operatorRoute({
    method: 'GET',
    url: '/v1/things',
    role: 'viewer',
    summary: 'List things',
    query: Body({ limit: Limit }),
    responses: { 200: Type.Object({ limit: Type.Integer(), name: Type.String() }) },
    act: null,
    handle: async (_deps, { query, operator }) =>
      answer(200, { limit: query.limit ?? 0, name: operator.name, secret: 'x' }),
  }),
  operatorRoute({
    method: 'POST',
    url: '/v1/envs/:env/things',
    role: 'admin',
    summary: 'Make a thing',
    params: Type.Object({ env: EnvName }),
    body: Body({ name: Line }),
    responses: { 201: Type.Object({ name: Type.String() }) },
    act: 'thing.create',
    target: ({ body }) => body.name,
    noStore: true,
    handle: async (_deps, { body }) => {
      if (body.name === 'taken') throw new ApiError({ status: 409, code: 'THING_EXISTS', message: 'there is one' });
      if (body.name === 'peer') throw new PeerError('secretstore', 'sealed', 7);
      if (body.name === 'bug') throw new Error('secret value');
      return answer(201, body);
    },
  }),
  operatorRoute({
    method: 'DELETE',
    url: '/v1/things',
    role: 'admin',
    everyEnv: true,
    summary: 'Remove things',
    responses: { 204: null },
    act: 'thing.delete',
    handle: async () => noContent,
  }),
  operatorRoute({
    method: 'PUT',
    url: '/v1/things',
    role: 'admin',
    summary: 'Replace things',
    body: octets,
    responses: { 200: Type.Object({ bytes: Type.Integer() }) },
    act: 'thing.replace',
    handle: async (_deps, { body }) => answer(200, { bytes: (await buffer(body)).length }),
  }),
];

const refused: RefusedAct[] = [];
let service: Service;
beforeAll(async () => {
  service = await startService({
    http: {
      operatorRoutes: routes,
      authenticateOperator: async (_deps, bearer) => operators[bearer] ?? null,
      recordRefusedAct: async (_deps, act) => void refused.push(act),
    },
  });
});
afterAll(() => service.stop());
beforeEach(() => void refused.splice(0));

const json = (body: unknown) => ({ method: 'POST', body: JSON.stringify(body), type: 'application/json' });

async function send(
  path: string,
  { bearer = 'dpo_admin', type, ...init }: RequestInit & { bearer?: string; type?: string } = {},
) {
  const headers = {
    authorization: `Bearer ${bearer}`,
    ...(type && { 'content-type': type }),
    'x-request-id': 'tick-1',
  };
  const response = await fetch(service.url + path, { headers, ...init });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: (text === '' ? null : JSON.parse(text)) as never };
}

it('answers what the schema says, and nothing else', async () => {
  expect((await send('/v1/things')).body).toEqual({ limit: 100, name: 'ada' });
  expect((await send('/v1/things?limit=7', { bearer: 'dpo_viewer' })).body).toEqual({ limit: 7, name: 'vera' });
  expect(await send('/v1/things', { method: 'DELETE' })).toMatchObject({ status: 204, body: null });
});

it('streams a body of octets', async () => {
  const options = { method: 'PUT', body: Buffer.alloc(100_000), type: 'application/octet-stream' };
  expect((await send('/v1/things', options)).body).toEqual({ bytes: 100_000 });
});

it('keeps secrets out of caches', async () => {
  const { status, headers } = await send('/v1/envs/eu-1/things', json({ name: 'one' }));
  expect([status, headers.get('cache-control')]).toEqual([201, 'no-store']);
});

const things = '/v1/envs/eu-1/things';
it.each([
  ['no bearer', '/v1/things', { bearer: '' }, 401, 'UNAUTHENTICATED', /bearer/],
  ['an unknown bearer', '/v1/things', { bearer: 'dpo_x' }, 401, 'UNAUTHENTICATED', /bearer/],
  ['a role that is too low', things, { bearer: 'dpo_viewer', ...json({ name: 'a' }) }, 403, 'FORBIDDEN', /role admin/],
  ['another env', '/v1/envs/us/things', { bearer: 'dpo_eu-1', ...json({ name: 'a' }) }, 403, 'FORBIDDEN', /env us/],
  ['a token for some envs', '/v1/things', { bearer: 'dpo_eu-1', method: 'DELETE' }, 403, 'FORBIDDEN', /some envs/],
  ['a query of another type', '/v1/things?limit=many', {}, 400, 'REQUEST_INVALID', /querystring.limit/],
  ['a query beyond its range', '/v1/things?limit=501', {}, 400, 'REQUEST_INVALID', /querystring.limit/],
  ['an unknown query', '/v1/things?token=x', {}, 400, 'REQUEST_INVALID', /"token"/],
  ['a field of another type', things, json({ name: 7 }), 400, 'REQUEST_INVALID', /body.name/],
  ['an unknown field', things, json({ name: 'a', more: 1 }), 400, 'REQUEST_INVALID', /"more"/],
  ['a control character', things, json({ name: 'a\u0000' }), 400, 'REQUEST_INVALID', /body.name/],
  ['a parameter of another form', '/v1/envs/EU/things', json({ name: 'a' }), 400, 'REQUEST_INVALID', /params.env/],
  ['no JSON', things, { ...json(0), body: '{' }, 400, 'REQUEST_INVALID', /JSON/],
  ['no octets', '/v1/things', { method: 'PUT' }, 400, 'REQUEST_INVALID', /body must be/],
  ['another media type', things, { ...json(0), type: 'text/plain' }, 415, 'MEDIA_TYPE_UNSUPPORTED', /Media/],
  ['octets for JSON', things, { ...json(0), type: 'application/octet-stream' }, 415, 'MEDIA_TYPE_UNSUPPORTED', /./],
  ['a huge body', things, json({ name: 'x'.repeat(2e6) }), 413, 'REQUEST_TOO_LARGE', /large/],
  ['a conflict', things, json({ name: 'taken' }), 409, 'THING_EXISTS', /one/],
  ['a peer that is away', things, json({ name: 'peer' }), 503, 'PEER_UNAVAILABLE', /the secretstore/],
  ['a defect', things, json({ name: 'bug' }), 500, 'INTERNAL', /unexpected/],
  ['an unknown path', '/v1/nothing', { method: 'POST', body: 'x' }, 404, 'NOT_FOUND', /resource/],
  ['another method', '/v1/things', { method: 'PATCH', body: 'x' }, 405, 'METHOD_NOT_ALLOWED', /GET/],
])('refuses %s', async (_what, path, init, status, code, message) => {
  const refusal = await send(path, init);
  expect(refusal).toMatchObject({ status, body: { error: { code } } });
  expect((refusal.body as ErrorBody).error.message).toMatch(message);
});

it('says when to come again, and which methods there are', async () => {
  expect((await send(things, json({ name: 'peer' }))).headers.get('retry-after')).toBe('7');
  expect((await send('/v1/things', { method: 'PATCH' })).headers.get('allow')).toBe('GET, HEAD, DELETE, PUT');
});

it('writes a defect into the log, and not into the answer', async () => {
  service.log.splice(0);
  const { body } = await send(things, json({ name: 'bug' }));
  expect(JSON.stringify(body)).not.toContain('secret value');
  const [defect] = service.log.filter(({ level }) => level === 'error');
  expect(defect?.line).toContain('secret value');
});

it('keeps refused acts in the audit log: who, what, on what, from where, why', async () => {
  const from = { address: '127.0.0.1', requestId: 'tick-1', act: 'thing.create' };
  await send(things, json({ name: 'taken' }));
  await send('/v1/envs/us/things', { bearer: 'dpo_eu-1', ...json({ name: 'a' }) });
  await send(things, json({ name: 'bug' }));
  await send('/v1/things?limit=x');
  expect(refused).toEqual([
    { ...from, actor: 'ada', target: 'taken', env: 'eu-1', result: 'THING_EXISTS' },
    { ...from, actor: 'eve', target: 'a', env: 'us', result: 'FORBIDDEN' },
  ]);
});
