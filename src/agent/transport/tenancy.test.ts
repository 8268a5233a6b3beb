import { type HttpTestbed, openHttpTestbed } from '../../../fixtures/world/servers/http/httpTestbed.ts';
import type { Answer } from '../../../fixtures/world/servers/http/httpsServer.ts';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import { createTenancy, type Tenancy } from './tenancy.ts';

const sha = 'ab'.repeat(32);
const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';
const never = new AbortController().signal;

let bed: HttpTestbed;
let tenancy: Tenancy;
let answer: Answer;
let sent: { path: string; body: unknown; authorization: string | undefined }[];
beforeEach(async () => {
  sent = [];
  answer = { status: 200, body: {} };
  bed = await openHttpTestbed(({ path, body, headers }) => {
    sent.push({ path, body: JSON.parse(body.toString()), authorization: headers.authorization });
    return answer;
  });
  tenancy = createTenancy({ ...bed.client(), vault: bed.vault, requestId: () => 'tick-1', traceparent: () => null });
});
afterEach(() => bed.close());

test('a check-in sends the token as bearer and returns the response', async () => {
  const bundle = { sha256: sha, size_bytes: 9 };
  answer.body = { action: 'apply', env: 'eu-1', backend_id: 'b', production: true, desired_sha: sha, bundle };
  expect(await tenancy.checkIn({ env: 'eu-1' } as CheckInRequest, never)).toEqual({
    action: 'apply',
    emergency: false,
    env: 'eu-1',
    backendId: 'b',
    production: true,
    desiredSha: sha,
    sizeBytes: 9,
    purgeVolumes: false,
  });
  expect(sent).toEqual([{ path: '/v1/agent/check-in', body: { env: 'eu-1' }, authorization: 'Bearer s.agenttoken' }]);
  expect(bed.server.requests[0]!.requestId).toBe('tick-1');
});

test('a call joins the trace of the tick if traces are sent, and only then', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const traced = createTenancy({
    ...bed.client(),
    vault: bed.vault,
    requestId: () => 'tick-1',
    traceparent: () => traceparent,
  });
  await tenancy.report({}, never);
  await traced.report({}, never);
  expect(bed.server.requests.map(({ headers }) => headers['traceparent'])).toEqual([undefined, traceparent]);
});

test('a response without a body is PROTOCOL_INVALID', async () => {
  answer = { status: 204 };
  await expect(tenancy.checkIn({} as CheckInRequest, never)).rejects.toMatchObject({
    message: 'PROTOCOL_INVALID: check-in: the answer is not a JSON object',
  });
});

test('the JWT of a lease is registered for redaction before it is returned', async () => {
  const lease = { method: 'jwt', mount: 'jwt-tenancy', role: 'deploy-apply', jwt, expires_at: '2026-11-21T13:00:00Z' };
  answer.body = { lease };
  expect(await tenancy.lease('apply', never)).toEqual({
    role: 'deploy-apply',
    jwt,
    expiresAt: '2026-11-21T13:00:00Z',
  });
  expect(bed.registeredSecrets).toEqual([jwt]);
  expect(sent[0]).toMatchObject({ path: '/v1/agent/lease', body: { purpose: 'apply' } });
});

test('an AppRole lease is refused, and its untracked secrets are recorded', async () => {
  answer.body = { lease: { method: 'approle', role_id: 'r', secret_id: 'canary' } };
  const refusal = await tenancy.lease('renew', never).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ ending: 'refused', code: 'LEASE_SHAPE' });
  expect(bed.unheldCount()).toBe(1);
  expect(String(refusal)).not.toContain('canary');
});

it.each([200, 202, 204])('a report answered with %i is delivered', async (status) => {
  answer = { status };
  expect(await tenancy.report({ report_id: 'r' }, never)).toBe('delivered');
});

it.each([400, 413, 422])('a report answered with %i is rejected permanently', async (status) => {
  answer = { status };
  expect(await tenancy.report({ report_id: 'r' }, never)).toBe('rejected');
});

it.each([401, 403, 404, 409, 503])('a report answered with %i may be retried', async (status) => {
  answer = { status };
  await expect(tenancy.report({ report_id: 'r' }, never)).rejects.toMatchObject({ name: 'Fault' });
});

test('a token that is not a valid header value is a fault that does not contain it', async () => {
  const vault = { ...bed.vault, token: () => 'canary\r\nx: y' };
  const broken = createTenancy({ ...bed.client(), vault, requestId: () => 'tick-1', traceparent: () => null });
  const fault = await broken.checkIn({} as CheckInRequest, never).catch((error: unknown) => error);
  expect(fault).toMatchObject({ name: 'Fault', ending: 'failed' });
  expect(String(fault)).not.toContain('canary');
  expect(sent).toHaveLength(0);
});
