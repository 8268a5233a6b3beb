import { once } from 'node:events';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { createCa } from '../../../../fixtures/servers/ca.ts';
import type { Script } from '../../../../fixtures/servers/script.ts';
import { openTestbed, type Testbed } from '../../../../fixtures/testbed.ts';
import type { Fault } from '../../../../machines/fault.ts';
import type { Settings } from '../../config/settings.ts';
import type { Call } from './call.ts';
import { createHttp, type Http } from './http.ts';
import { createTransport } from '../transport/transport.ts';

type Client = { http: Http };

function connect(settings: Settings): Client & { close: () => void } {
  const transport = createTransport(settings);
  return { http: createHttp({ settings, transport, version: '0.2.0' }), close: transport.close };
}

let bed: Testbed<Client>;
beforeEach(async () => {
  bed = await openTestbed(connect, () => ({ status: 200, body: { fine: true } }));
});
afterEach(() => bed.close());

const never = new AbortController().signal;
const checkIn: Call = {
  peer: 'tenancy',
  what: 'check-in',
  method: 'POST',
  path: '/check-in',
  requestId: 'tick-1',
  body: { hello: 1 },
  headers: { authorization: 'Bearer s.canary' },
  signal: never,
};

async function faultOf(changed: Partial<Settings> = {}, call: Partial<Call> = {}): Promise<Fault> {
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

test('an answer is returned with its status, headers and JSON', async () => {
  const reply = await bed.client().http.call(checkIn);
  expect(reply).toMatchObject({ status: 200, json: { fine: true }, headers: { 'content-type': 'application/json' } });
});

test('a call names agent and tick, and asks for no compression', async () => {
  await bed.client().http.call(checkIn);
  expect(bed.server.requests[0]).toMatchObject({
    requestId: 'tick-1',
    headers: { 'user-agent': 'deployd/0.2.0', 'accept-encoding': 'identity', 'content-type': 'application/json' },
  });
  expect(bed.server.requests[0]!.headers).not.toHaveProperty('cookie');
});

test('one TLS connection serves the calls of a tick', async () => {
  const { http } = bed.client();
  await http.call(checkIn);
  bed.server.cutHandshakes(true);
  expect(await http.call(checkIn)).toMatchObject({ status: 200 });
});

describe('an answer that is not accepted', () => {
  const temporary = (words: string) => `temporary network failure: tenancy service ${bed.server.url}: ${words}`;
  const invalid = (words: string) => `PROTOCOL_INVALID: tenancy service ${bed.server.url}: ${words}`;

  it.each([408, 429, 503])('%i is temporary and tried three times', async (status) => {
    bed.server.answerAlways('*', { status });
    const fault = await faultOf();
    expect(fault).toMatchObject({ ending: 'offline', message: temporary(`check-in answered ${status}`) });
    expect(bed.server.requests).toHaveLength(3);
  });

  it.each([302, 307, 404])('%i is a fault of the protocol', async (status) => {
    bed.server.answerAlways('*', { status, headers: { location: 'https://elsewhere.example/' } });
    const fault = await faultOf();
    expect(fault).toMatchObject({ ending: 'failed', code: 'PROTOCOL_INVALID' });
    expect(fault.message).toBe(invalid(`check-in answered ${status}`));
    expect(bed.server.requests).toHaveLength(1);
  });

  test('401 of the tenancy service means that the bearer is refused', async () => {
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

  test('the words of the server follow, on one line', async () => {
    bed.server.answerAlways('*', { status: 404, body: { error: { code: 'NO_SUCH', message: 'a\n\u001b[31mb' } } });
    expect((await faultOf()).message).toBe(invalid('check-in answered 404 (NO_SUCH: a [31mb)'));
  });
});

describe('short retries', () => {
  test('two bad answers before a good one do not show', async () => {
    bed.server.answerNext('*', { status: 503 });
    bed.server.answerNext('*', { cut: 'body' });
    expect(await bed.client().http.call(checkIn)).toMatchObject({ status: 200 });
    expect(bed.server.requests).toHaveLength(3);
  });

  test('a try that is never answered after a body that broke off ends with the time of the call', async () => {
    bed.server.answerNext('*', { cut: 'body' });
    bed.server.answerAlways('*', { stall: 'head' });
    expect((await faultOf({ http_timeout_s: 3 })).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(2);
  });

  test('none where the caller wants only one try', async () => {
    bed.server.answerAlways('*', { status: 503 });
    expect((await faultOf({}, { tries: 1 })).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(1);
  });

  test('a server that asks for more than ten seconds is left alone', async () => {
    bed.server.answerAlways('*', { status: 429, headers: { 'retry-after': '11' } });
    expect((await faultOf()).ending).toBe('offline');
    expect(bed.server.requests).toHaveLength(1);
  });

  test('a pause that the server asks for ends with the time of the call', async () => {
    bed.server.answerAlways('*', { status: 429, headers: { 'retry-after': '9' } });
    expect((await faultOf({ http_timeout_s: 3 })).message).toContain('check-in answered 429');
    expect(bed.server.requests).toHaveLength(1);
  });
});

describe('a bad connection', () => {
  const offline = async (words: string, changed: Partial<Settings> = {}, call: Partial<Call> = {}) => {
    const fault = await faultOf(changed, call);
    expect(fault.ending).toBe('offline');
    expect(fault.message).toMatch(new RegExp(words));
  };

  test('refused', async () => {
    await bed.server.unlisten();
    await offline(`^temporary network failure: tenancy service ${bed.server.url}: connection refused$`);
    await bed.server.listen();
  });

  test('a name that nobody knows', async () => {
    await offline('https://nowhere.invalid: name (not found|lookup failed)', {
      tenancy_url: 'https://nowhere.invalid',
    });
  });

  test('cut off before TLS', async () => {
    bed.server.cutHandshakes(true);
    await offline('connection reset');
    bed.server.cutHandshakes(false);
  });

  it.each<[string, Script, string]>([
    ['cut off before the head', { cut: 'head' }, 'connection (reset|cut off)'],
    ['cut off in the body', { cut: 'body' }, 'connection (reset|cut off)'],
    ['silent before the head', { stall: 'head' }, 'no complete answer in time'],
    ['silent in the body', { stall: 'body' }, 'no complete answer in time'],
    ['a byte at a time', { slow: { bytes: 1, everyMs: 100 } }, 'no complete answer in time'],
  ])('%s', async (_title, script, words) => {
    bed.server.answerAlways('*', script);
    await offline(words, script.cut ? {} : { http_timeout_s: 0.4 });
  });

  test('a server that takes connections and says nothing counts against the connect timeout', async () => {
    const silent = await listen();
    const url = `https://127.0.0.1:${(silent.address() as AddressInfo).port}`;
    await offline('connection timed out', { tenancy_url: url, connect_timeout_s: 0.1 });
    silent.close();
  });

  test('something that is no TLS', async () => {
    const plain = await listen('HTTP/1.1 400 Bad Request\r\n\r\n');
    const url = `https://127.0.0.1:${(plain.address() as AddressInfo).port}`;
    await offline('TLS handshake failed', { tenancy_url: url });
    plain.close();
  });
});

describe('a strange answer', () => {
  test('one beyond the limit is a fault of the protocol, not read to its end', async () => {
    bed.server.answerAlways('*', { padBytes: 100_000_000 });
    const fault = await faultOf();
    expect(fault.message).toBe(
      `PROTOCOL_INVALID: tenancy service ${bed.server.url}: check-in: the answer is too large`,
    );
    expect(bed.server.requests).toHaveLength(1);
  });

  it.each<Script>([{ padBytes: 100_000_000 }, { cut: 'body' }, { stall: 'body' }])(
    'is none where only the status counts: %j',
    async (script) => {
      bed.server.answerAlways('*', script);
      expect(await bed.client().http.call({ ...checkIn, ignoresBody: true })).toMatchObject({ status: 200 });
    },
  );

  test('an error with a huge body keeps the meaning of its status', async () => {
    bed.server.answerAlways('*', { status: 401, padBytes: 10_000_000 });
    expect((await faultOf()).ending).toBe('unauthenticated');
  });

  it.each([['{'], ['<html>'], [Buffer.from([0x22, 0xff, 0x22])], ['']])('%j is no JSON', async (body) => {
    bed.server.answerAlways('*', { status: 200, body });
    expect((await bed.client().http.call(checkIn)).json).toBeUndefined();
  });

  test('something that is no HTTP is a fault of the protocol', async () => {
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
    bed.server.present(certificate());
    await untrusted(`^TLS_UNTRUSTED: tenancy service ${bed.server.url}: .*${words}`);
  });

  test('the roots of the system do not vouch for a private authority', async () => {
    await untrusted('certificate is not trusted', { tenancy_ca: null });
  });

  test('a CA file that went away is told by name', async () => {
    await untrusted('cannot be used', { tenancy_ca: '/nonexistent/ca.pem' });
  });

  test('no environment variable turns verification off', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    process.env.HTTPS_PROXY = 'http://127.0.0.1:1';
    try {
      bed.server.present(createCa().issue(['127.0.0.1']));
      await untrusted('certificate is not trusted');
      bed.server.present(bed.certificate);
      expect(await bed.client().http.call(checkIn)).toMatchObject({ status: 200 });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      delete process.env.HTTPS_PROXY;
    }
  });
});

describe('SIGTERM', () => {
  test('ends a call under way', async () => {
    bed.server.answerAlways('*', { stall: 'head' });
    const stop = new AbortController();
    const fault = faultOf({}, { signal: stop.signal });
    await bed.server.asked('/check-in');
    stop.abort();
    expect(await fault).toMatchObject({ ending: 'stopped', message: 'stopped by SIGTERM' });
  });

  test('ends the pause before another try', async () => {
    bed.server.answerAlways('*', { status: 503, headers: { 'retry-after': '9' } });
    const stop = new AbortController();
    const fault = faultOf({}, { signal: stop.signal });
    await bed.server.asked('/check-in');
    setImmediate(() => stop.abort());
    expect((await fault).ending).toBe('stopped');
  });

  test('that came before the call lets nothing be sent', async () => {
    expect((await faultOf({}, { signal: AbortSignal.abort() })).ending).toBe('stopped');
    expect(bed.server.requests).toHaveLength(0);
  });
});

/** A plain TCP server that says the same to everybody, or nothing. */
async function listen(words?: string): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    if (words !== undefined) socket.end(words);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}
