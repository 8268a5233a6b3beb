import { checkInCall, faultOf } from '../../../fixtures/world/servers/http/checkInCall.ts';
import { type HttpTestbed, openHttpTestbed } from '../../../fixtures/world/servers/http/httpTestbed.ts';

let bed: HttpTestbed;
beforeEach(async () => {
  bed = await openHttpTestbed(() => ({ status: 200, body: { fine: true } }));
});
afterEach(() => bed.close());

test('a response is returned with its status, headers and JSON', async () => {
  const reply = await bed.client().http.call(checkInCall);
  expect(reply).toMatchObject({ status: 200, json: { fine: true }, headers: { 'content-type': 'application/json' } });
});

test('a call identifies agent and tick, and requests no compression', async () => {
  await bed.client().http.call(checkInCall);
  expect(bed.server.requests[0]).toMatchObject({
    requestId: 'tick-1',
    headers: { 'user-agent': 'deployd/0.2.0', 'accept-encoding': 'identity', 'content-type': 'application/json' },
  });
  expect(bed.server.requests[0]!.headers).not.toHaveProperty('cookie');
});

test('the calls of a tick share one TLS connection', async () => {
  const { http } = bed.client();
  await http.call(checkInCall);
  bed.server.cutHandshakes(true);
  expect(await http.call(checkInCall)).toMatchObject({ status: 200 });
});

describe('a status that is not accepted', () => {
  const temporary = (words: string) => `temporary network failure: tenancy service ${bed.server.url}: ${words}`;
  const invalid = (words: string) => `PROTOCOL_INVALID: tenancy service ${bed.server.url}: ${words}`;

  it.each([408, 429, 503])('%i is temporary and tried three times', async (status) => {
    bed.server.answerAlways('*', { status });
    const fault = await faultOf(bed);
    expect(fault).toMatchObject({ ending: 'offline', message: temporary(`check-in answered ${status}`) });
    expect(bed.server.requests).toHaveLength(3);
  });

  it.each([302, 307, 404])('%i is PROTOCOL_INVALID', async (status) => {
    bed.server.answerAlways('*', { status, headers: { location: 'https://elsewhere.example/' } });
    const fault = await faultOf(bed);
    expect(fault).toMatchObject({ ending: 'failed', code: 'PROTOCOL_INVALID' });
    expect(fault.message).toBe(invalid(`check-in answered ${status}`));
    expect(bed.server.requests).toHaveLength(1);
  });

  test('401 of the tenancy service is AGENT_UNAUTHENTICATED', async () => {
    bed.server.answerAlways('*', { status: 401, body: '<html>' });
    expect(await faultOf(bed)).toMatchObject({
      ending: 'unauthenticated',
      message: 'AGENT_UNAUTHENTICATED: bearer refused',
    });
  });

  it.each([403, 409])('%i with the code of another env is that', async (status) => {
    bed.server.answerAlways('*', { status, body: { error: { code: 'AGENT_ENV_MISMATCH', message: 'token of b' } } });
    expect(await faultOf(bed)).toMatchObject({ ending: 'envMismatch', message: 'AGENT_ENV_MISMATCH: token of b' });
  });

  test('the error text of the server is included, on one line', async () => {
    bed.server.answerAlways('*', { status: 404, body: { error: { code: 'NO_SUCH', message: 'a\n\u001b[31mb' } } });
    expect((await faultOf(bed)).message).toBe(invalid('check-in answered 404 (NO_SUCH: a [31mb)'));
  });
});

describe('short retries', () => {
  test('two failed tries before a good response are not reported', async () => {
    bed.server.answerNext('*', { status: 503 });
    bed.server.answerNext('*', { cut: 'body' });
    expect(await bed.client().http.call(checkInCall)).toMatchObject({ status: 200 });
    expect(bed.server.requests).toHaveLength(3);
  });

  test('a try without a response after a truncated body ends at the timeout of the call', async () => {
    bed.server.answerNext('*', { cut: 'body' });
    bed.server.answerAlways('*', { stall: 'head' });
    expect((await faultOf(bed, { http_timeout_s: 3 })).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(2);
  });

  test('none when the caller allows only one try', async () => {
    bed.server.answerAlways('*', { status: 503 });
    expect((await faultOf(bed, {}, { tries: 1 })).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(1);
  });

  test('a Retry-After of more than ten seconds ends the tries', async () => {
    bed.server.answerAlways('*', { status: 429, headers: { 'retry-after': '11' } });
    expect((await faultOf(bed)).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(1);
  });

  test('a Retry-After delay ends at the timeout of the call', async () => {
    bed.server.answerAlways('*', { status: 429, headers: { 'retry-after': '9' } });
    expect((await faultOf(bed, { http_timeout_s: 3 })).message).toContain('check-in answered 429');
    expect(bed.server.requests).toHaveLength(1);
  });
});

describe('SIGTERM', () => {
  test('ends a running call', async () => {
    bed.server.answerAlways('*', { stall: 'head' });
    const stop = new AbortController();
    const fault = faultOf(bed, {}, { signal: stop.signal });
    await bed.server.waitForRequest('/check-in');
    stop.abort();
    expect(await fault).toMatchObject({ ending: 'stopped', message: 'stopped by SIGTERM' });
  });

  test('ends the delay before a retry', async () => {
    bed.server.answerAlways('*', { status: 503, headers: { 'retry-after': '9' } });
    const stop = new AbortController();
    const fault = faultOf(bed, {}, { signal: stop.signal });
    await bed.server.waitForRequest('/check-in');
    setImmediate(() => stop.abort());
    expect((await fault).ending).toBe('stopped');
  });

  test('before a call prevents any request', async () => {
    expect((await faultOf(bed, {}, { signal: AbortSignal.abort() })).ending).toBe('stopped');
    expect(bed.server.requests).toHaveLength(0);
  });
});
