import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createCa } from '../../../../fixtures/servers/crypto/ca.ts';
import type { ResponseScript } from '../../../../fixtures/servers/http/responseScript.ts';
import { openHttpTestbed, type HttpTestbed } from '../../../../fixtures/servers/http/httpTestbed.ts';
import type { Fault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import type { HttpCall } from './httpCall.ts';
import { createHttpClient, type HttpClient } from './httpClient.ts';
import { createTransport } from '../transport/createTransport.ts';

type Client = { http: HttpClient };

function connect(settings: Settings): Client & { close: () => void } {
  const transport = createTransport(settings);
  return { http: createHttpClient({ settings, transport, version: '0.2.0' }), close: transport.close };
}

let bed: HttpTestbed<Client>;
beforeEach(async () => {
  bed = await openHttpTestbed(connect, () => ({ status: 200, body: { fine: true } }));
});
afterEach(() => bed.close());

const never = new AbortController().signal;
const checkIn: HttpCall = {
  peer: 'tenancy',
  operation: 'check-in',
  method: 'POST',
  path: '/check-in',
  requestId: 'tick-1',
  body: { hello: 1 },
  headers: { authorization: 'Bearer s.canary' },
  signal: never,
};

async function faultOf(changed: Partial<Settings> = {}, call: Partial<HttpCall> = {}): Promise<Fault> {
  const error = await bed
    .client(changed)
    .http.call({ ...checkIn, ...call })
    .then(
      () => null,
      (thrown: unknown) => thrown,
    );
  expect(error).toMatchObject({ name: 'Fault' });
  expect((error as Fault).cause).toBeUndefined();
  expect(JSON.stringify(error) + String((error as Fault).stack)).not.toContain('canary');
  return error as Fault;
}

test('a response is returned with its status, headers and JSON', async () => {
  const reply = await bed.client().http.call(checkIn);
  expect(reply).toMatchObject({ status: 200, json: { fine: true }, headers: { 'content-type': 'application/json' } });
});

test('a call identifies agent and tick, and requests no compression', async () => {
  await bed.client().http.call(checkIn);
  expect(bed.server.requests[0]).toMatchObject({
    requestId: 'tick-1',
    headers: { 'user-agent': 'deployd/0.2.0', 'accept-encoding': 'identity', 'content-type': 'application/json' },
  });
  expect(bed.server.requests[0]!.headers).not.toHaveProperty('cookie');
});

test('the calls of a tick share one TLS connection', async () => {
  const { http } = bed.client();
  await http.call(checkIn);
  bed.server.cutHandshakes(true);
  expect(await http.call(checkIn)).toMatchObject({ status: 200 });
});

describe('a status that is not accepted', () => {
  const temporary = (words: string) => `temporary network failure: tenancy service ${bed.server.url}: ${words}`;
  const invalid = (words: string) => `PROTOCOL_INVALID: tenancy service ${bed.server.url}: ${words}`;

  it.each([408, 429, 503])('%i is temporary and tried three times', async (status) => {
    bed.server.answerAlways('*', { status });
    const fault = await faultOf();
    expect(fault).toMatchObject({ ending: 'offline', message: temporary(`check-in answered ${status}`) });
    expect(bed.server.requests).toHaveLength(3);
  });

  it.each([302, 307, 404])('%i is PROTOCOL_INVALID', async (status) => {
    bed.server.answerAlways('*', { status, headers: { location: 'https://elsewhere.example/' } });
    const fault = await faultOf();
    expect(fault).toMatchObject({ ending: 'failed', code: 'PROTOCOL_INVALID' });
    expect(fault.message).toBe(invalid(`check-in answered ${status}`));
    expect(bed.server.requests).toHaveLength(1);
  });

  test('401 of the tenancy service is AGENT_UNAUTHENTICATED', async () => {
    bed.server.answerAlways('*', { status: 401, body: '<html>' });
    expect(await faultOf()).toMatchObject({
      ending: 'unauthenticated',
      message: 'AGENT_UNAUTHENTICATED: bearer refused',
    });
  });

  it.each([403, 409])('%i with the code of another env is that', async (status) => {
    bed.server.answerAlways('*', { status, body: { error: { code: 'AGENT_ENV_MISMATCH', message: 'token of b' } } });
    expect(await faultOf()).toMatchObject({ ending: 'envMismatch', message: 'AGENT_ENV_MISMATCH: token of b' });
  });

  test('the error text of the server is included, on one line', async () => {
    bed.server.answerAlways('*', { status: 404, body: { error: { code: 'NO_SUCH', message: 'a\n\u001b[31mb' } } });
    expect((await faultOf()).message).toBe(invalid('check-in answered 404 (NO_SUCH: a [31mb)'));
  });
});

describe('short retries', () => {
  test('two failed tries before a good response are not reported', async () => {
    bed.server.answerNext('*', { status: 503 });
    bed.server.answerNext('*', { cut: 'body' });
    expect(await bed.client().http.call(checkIn)).toMatchObject({ status: 200 });
    expect(bed.server.requests).toHaveLength(3);
  });

  test('a try without a response after a truncated body ends at the timeout of the call', async () => {
    bed.server.answerNext('*', { cut: 'body' });
    bed.server.answerAlways('*', { stall: 'head' });
    expect((await faultOf({ http_timeout_s: 3 })).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(2);
  });

  test('none when the caller allows only one try', async () => {
    bed.server.answerAlways('*', { status: 503 });
    expect((await faultOf({}, { tries: 1 })).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(1);
  });

  test('a Retry-After of more than ten seconds ends the tries', async () => {
    bed.server.answerAlways('*', { status: 429, headers: { 'retry-after': '11' } });
    expect((await faultOf()).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(1);
  });

  test('a Retry-After delay ends at the timeout of the call', async () => {
    bed.server.answerAlways('*', { status: 429, headers: { 'retry-after': '9' } });
    expect((await faultOf({ http_timeout_s: 3 })).message).toContain('check-in answered 429');
    expect(bed.server.requests).toHaveLength(1);
  });
});

describe('a bad connection', () => {
  const offline = async (words: string, changed: Partial<Settings> = {}, call: Partial<HttpCall> = {}) => {
    const fault = await faultOf(changed, call);
    expect(fault.ending).toBe('offline');
    expect(fault.message).toMatch(new RegExp(words));
  };

  test('refused', async () => {
    await bed.server.stopListening();
    await offline(`^temporary network failure: tenancy service ${bed.server.url}: connection refused$`);
    await bed.server.listen();
  });

  test('an unknown host name', async () => {
    await offline('https://nowhere.invalid: name (not found|lookup failed)', {
      tenancy_url: 'https://nowhere.invalid',
    });
  });

  test('cut off before TLS', async () => {
    bed.server.cutHandshakes(true);
    await offline('connection reset');
    bed.server.cutHandshakes(false);
  });

  it.each<[string, ResponseScript, string]>([
    ['cut off before the head', { cut: 'head' }, 'connection (reset|cut off)'],
    ['cut off in the body', { cut: 'body' }, 'connection (reset|cut off)'],
    ['silent before the head', { stall: 'head' }, 'no complete answer in time'],
    ['silent in the body', { stall: 'body' }, 'no complete answer in time'],
    ['slow, a byte at a time', { slow: { bytes: 1, everyMs: 100 } }, 'no complete answer in time'],
  ])('%s', async (_title, script, words) => {
    bed.server.answerAlways('*', script);
    await offline(words, script.cut ? {} : { http_timeout_s: 0.4 });
  });

  test('a server that accepts connections and sends nothing hits the connect timeout', async () => {
    const silent = await listen();
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await offline('connection timed out', { tenancy_url: url, connect_timeout_s: 0.1 });
    silent.close();
  });

  test('a server without TLS', async () => {
    const plain = await listen('HTTP/1.1 400 Bad Request\r\n\r\n');
    const url = `https://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    await offline('TLS handshake failed', { tenancy_url: url });
    plain.close();
  });
});

describe('an invalid response', () => {
  test('beyond the size limit is PROTOCOL_INVALID and not read to its end', async () => {
    bed.server.answerAlways('*', { padBytes: 100_000_000 });
    const fault = await faultOf();
    expect(fault.message).toBe(
      `PROTOCOL_INVALID: tenancy service ${bed.server.url}: check-in: the answer is too large`,
    );
    expect(bed.server.requests).toHaveLength(1);
  });

  it.each<ResponseScript>([{ padBytes: 100_000_000 }, { cut: 'body' }, { stall: 'body' }])(
    'is ignored when only the status is needed: %j',
    async (script) => {
      bed.server.answerAlways('*', script);
      expect(await bed.client().http.call({ ...checkIn, ignoresBody: true })).toMatchObject({ status: 200 });
    },
  );

  test('with an error status and a huge body is classified by its status', async () => {
    bed.server.answerAlways('*', { status: 401, padBytes: 10_000_000 });
    expect((await faultOf()).ending).toBe('unauthenticated');
  });

  it.each([['{'], ['<html>'], [Buffer.from([0x22, 0xff, 0x22])], ['']])('%j is not JSON', async (body) => {
    bed.server.answerAlways('*', { status: 200, body });
    expect((await bed.client().http.call(checkIn)).json).toBeUndefined();
  });

  test('that is not HTTP is PROTOCOL_INVALID', async () => {
    const strange = await listen('SSH-2.0-OpenSSH_9.2\r\n');
    const url = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
    expect((await faultOf({ tenancy_url: url })).message).toMatch(/PROTOCOL_INVALID: .*the answer is not HTTP \(HPE_/);
    strange.close();
  });
});

describe('trust', () => {
  const untrusted = async (words: string, changed: Partial<Settings> = {}) => {
    const fault = await faultOf(changed);
    expect(fault).toMatchObject({ ending: 'failed', code: 'TLS_UNTRUSTED' });
    expect(fault.message).toMatch(new RegExp(words));
    expect(bed.server.requests).toHaveLength(0);
  };

  it.each([
    ['of another authority', () => createCa().issue(['127.0.0.1']), 'certificate is not trusted \\('],
    ['for another name', () => bed.ca.issue(['localhost']), 'certificate is for another name \\('],
    ['that is expired', () => bed.ca.issue(['127.0.0.1'], { expired: true }), 'CERT_HAS_EXPIRED'],
  ])('a certificate %s is refused', async (_title, certificate, words) => {
    bed.server.setCertificate(certificate());
    await untrusted(`^TLS_UNTRUSTED: tenancy service ${bed.server.url}: .*${words}`);
  });

  test('a private authority is not trusted by the roots of the system', async () => {
    await untrusted('certificate is not trusted', { tenancy_ca: null });
  });

  test('a missing CA file is named', async () => {
    await untrusted('cannot be used', { tenancy_ca: '/nonexistent/ca.pem' });
  });

  test('no environment variable disables verification', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    process.env.HTTPS_PROXY = 'http://127.0.0.1:1';
    try {
      bed.server.setCertificate(createCa().issue(['127.0.0.1']));
      await untrusted('certificate is not trusted');
      bed.server.setCertificate(bed.certificate);
      expect(await bed.client().http.call(checkIn)).toMatchObject({ status: 200 });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      delete process.env.HTTPS_PROXY;
    }
  });
});

describe('SIGTERM', () => {
  test('ends a running call', async () => {
    bed.server.answerAlways('*', { stall: 'head' });
    const stop = new AbortController();
    const fault = faultOf({}, { signal: stop.signal });
    await bed.server.waitForRequest('/check-in');
    stop.abort();
    expect(await fault).toMatchObject({ ending: 'stopped', message: 'stopped by SIGTERM' });
  });

  test('ends the delay before a retry', async () => {
    bed.server.answerAlways('*', { status: 503, headers: { 'retry-after': '9' } });
    const stop = new AbortController();
    const fault = faultOf({}, { signal: stop.signal });
    await bed.server.waitForRequest('/check-in');
    setImmediate(() => stop.abort());
    expect((await fault).ending).toBe('stopped');
  });

  test('before a call prevents any request', async () => {
    expect((await faultOf({}, { signal: AbortSignal.abort() })).ending).toBe('stopped');
    expect(bed.server.requests).toHaveLength(0);
  });
});

/** A plain TCP server that sends the same text to every client, or nothing. */
async function listen(words?: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (words !== undefined) socket.end(words);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
