import { addHost, type Host } from '../../../fixtures/world/tenancy/host.ts';
import { addOperator, type OperatorClient } from '../../../fixtures/world/tenancy/operatorClient.ts';
import { type Service, startService } from '../../../fixtures/world/tenancy/service.ts';
import type { Span } from '../../core/spans.rules.ts';
import { SpanQueue } from '../../core/sendSpans.ts';

const [traceId, spanId] = ['6b9f0b5c0000400080000000000000aa', 'b7ad6b7169203331'];

let service: Service;
let host: Host;
let admin: OperatorClient;
let told: Span[];
let next: PromiseWithResolvers<Span>;
beforeAll(async () => {
  const spans = new SpanQueue(
    async () => null,
    () => undefined,
  );
  spans.add = (span) => {
    told.push(span);
    next.resolve(span);
  };
  service = await startService({ deps: { spans } });
  host = await addHost(service);
  admin = await addOperator(service);
});
beforeEach(() => {
  told = [];
  next = Promise.withResolvers();
});
afterAll(() => service.stop());

const call = (path: string, headers: Record<string, string> = {}) => fetch(`${service.url}${path}`, { headers });

it("exports a host's call with its route, status and backend", async () => {
  const before = Date.now();
  await host.checkIn();
  const span = await next.promise;
  expect(span).toMatchObject({
    ...{ name: 'POST /v1/agent/check-in', kind: 'server', parentSpanId: null, error: null, events: [] },
    attributes: {
      'http.request.method': 'POST',
      'http.route': '/v1/agent/check-in',
      'http.response.status_code': 200,
      'deployd.backend': host.id,
    },
  });
  expect([span.traceId, span.spanId]).toEqual([
    expect.stringMatching(/^[0-9a-f]{32}$/),
    expect.stringMatching(/^[0-9a-f]{16}$/),
  ]);
  expect(span.startMs).toBeGreaterThanOrEqual(before - 1);
  expect(span.startMs + span.durationMs).toBeLessThanOrEqual(Date.now() + 1);
});

it("makes a call a child of its caller's span, even if the call is refused", async () => {
  await call('/v1/envs', { traceparent: `00-${traceId}-${spanId}-01` });
  expect(await next.promise).toMatchObject({
    ...{ traceId, parentSpanId: spanId, error: null },
    attributes: { 'http.response.status_code': 401 },
  });
});

it('does not export names in a URL', async () => {
  await admin.call('PUT envs/eu-1/secrets/canary', { data: { canary: 'x' } });
  await next.promise;
  expect(told.map(({ name }) => name)).toEqual(['PUT /v1/envs/:env/secrets/:key']);
  expect(JSON.stringify(told)).not.toContain('canary');
});

it('exports a failure of the service as an error', async () => {
  await using broken = await startBroken();
  await fetch(`${broken.url}/v1/agent/check-in`, { method: 'POST', headers: { authorization: 'Bearer s.x' } });
  expect(await next.promise).toMatchObject({ error: '500', attributes: { 'http.response.status_code': 500 } });
});

/** A service whose secretstore has a bug. */
async function startBroken() {
  const { spans } = service.deps;
  const lookUpBearer = () => Promise.reject(new Error('a bug'));
  const started = await startService({ deps: { spans, lookUpBearer } });
  return Object.assign(started, { [Symbol.asyncDispose]: () => started.stop() });
}

it.each<[string, string, Record<string, string>]>([
  ['a trace that its caller does not sample', '/v1/envs', { traceparent: `00-${traceId}-${spanId}-00` }],
  ['a call by neither hosts nor operators', '/healthz', {}],
  ['a call without a route', '/v1/nothing', {}],
])('does not export %s', async (_what, path, headers) => {
  await call(path, headers);
  await call('/v1/envs');
  await next.promise;
  expect(told.map(({ traceId: id, name }) => [id === traceId, name])).toEqual([[false, 'GET /v1/envs']]);
});
