import type { Answer } from '../../../../fixtures/servers/http.ts';
import { openTestbed, type Testbed } from '../../../../fixtures/testbed.ts';
import { createTenancy, type Tenancy } from './tenancy.ts';
import type { Settings } from '../../config/settings.ts';
import { createHttp, type Http } from './http.ts';
import { createTransport } from '../transport/transport.ts';

type Client = { http: Http };

function connect(settings: Settings): Client & { close: () => void } {
  const transport = createTransport(settings);
  return { http: createHttp({ settings, transport, version: '0.2.0' }), close: transport.close };
}

const sha = 'ab'.repeat(32);
const jwt = 'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJl';
const never = new AbortController().signal;

let bed: Testbed<Client>;
let tenancy: Tenancy;
let answer: Answer;
let sent: { path: string; body: unknown; authorization: string | undefined }[];
beforeEach(async () => {
  sent = [];
  answer = { status: 200, body: {} };
  bed = await openTestbed(connect, ({ path, body, headers }) => {
    sent.push({ path, body: JSON.parse(body.toString()), authorization: headers.authorization });
    return answer;
  });
  tenancy = createTenancy({ ...bed.client(), vault: bed.vault, requestId: () => 'tick-1' });
});
afterEach(() => bed.close());

test('a check-in carries the token as bearer and brings the answer', async () => {
  const bundle = { sha256: sha, size_bytes: 9 };
  answer.body = { action: 'apply', env: 'eu-1', backend_id: 'b', production: true, desired_sha: sha, bundle };
  expect(await tenancy.checkIn({ env: 'eu-1' }, never)).toEqual({
    action: 'apply',
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

test('an answer without a body is a fault of the protocol', async () => {
  answer = { status: 204 };
  await expect(tenancy.checkIn({}, never)).rejects.toMatchObject({
    message: 'PROTOCOL_INVALID: check-in: the answer is not a JSON object',
  });
});

test('the JWT of a lease is guarded before anybody sees it', async () => {
  const lease = { method: 'jwt', mount: 'jwt-tenancy', role: 'deploy-apply', jwt, expires_at: '2026-11-21T13:00:00Z' };
  answer.body = { lease };
  expect(await tenancy.lease('apply', never)).toEqual({
    role: 'deploy-apply',
    jwt,
    expiresAt: '2026-11-21T13:00:00Z',
  });
  expect(bed.guarded).toEqual([jwt]);
  expect(sent[0]).toMatchObject({ path: '/v1/agent/lease', body: { purpose: 'apply' } });
});

test('an AppRole lease is refused, and its secrets are noted', async () => {
  answer.body = { lease: { method: 'approle', role_id: 'r', secret_id: 'canary' } };
  const refusal = await tenancy.lease('renew', never).catch((error: unknown) => error);
  expect(refusal).toMatchObject({ ending: 'refused', code: 'LEASE_SHAPE' });
  expect(bed.noted()).toBe(1);
  expect(String(refusal)).not.toContain('canary');
});

it.each([200, 202, 204])('a report answered with %i is delivered', async (status) => {
  answer = { status };
  expect(await tenancy.report({ report_id: 'r' }, never)).toBe('delivered');
});

it.each([400, 413, 422])('a report answered with %i is rejected for good', async (status) => {
  answer = { status };
  expect(await tenancy.report({ report_id: 'r' }, never)).toBe('rejected');
});

it.each([401, 404, 503])('a report answered with %i may be tried again', async (status) => {
  answer = { status };
  await expect(tenancy.report({ report_id: 'r' }, never)).rejects.toMatchObject({ name: 'Fault' });
});

test('a token that is no header ends as a fault that does not show it', async () => {
  const vault = { ...bed.vault, token: () => 'canary\r\nx: y' };
  const broken = createTenancy({ ...bed.client(), vault, requestId: () => 'tick-1' });
  const fault = await broken.checkIn({}, never).catch((error: unknown) => error);
  expect(fault).toMatchObject({ name: 'Fault', ending: 'failed' });
  expect(String(fault)).not.toContain('canary');
  expect(sent).toHaveLength(0);
});
