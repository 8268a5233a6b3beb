import { once } from 'node:events';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { createCa } from '../../../fixtures/world/servers/crypto/ca.ts';
import { checkInCall, faultOf } from '../../../fixtures/world/servers/http/checkInCall.ts';
import { type HttpTestbed, openHttpTestbed } from '../../../fixtures/world/servers/http/httpTestbed.ts';
import type { ResponseScript } from '../../../fixtures/world/servers/http/responseScript.ts';
import type { Settings } from '../config/configKeys.ts';
import type { HttpCall } from './httpRequest.ts';

let bed: HttpTestbed;
beforeEach(async () => {
  bed = await openHttpTestbed(() => ({ status: 200, body: { fine: true } }));
});
afterEach(() => bed.close());

describe('a bad connection', () => {
  const offline = async (words: string, changed: Partial<Settings> = {}, call: Partial<HttpCall> = {}) => {
    const fault = await faultOf(bed, changed, call);
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
    const fault = await faultOf(bed);
    expect(fault.message).toBe(
      `PROTOCOL_INVALID: tenancy service ${bed.server.url}: check-in: the answer is too large`,
    );
    expect(bed.server.requests).toHaveLength(1);
  });

  it.each<ResponseScript>([{ padBytes: 100_000_000 }, { cut: 'body' }, { stall: 'body' }])(
    'is ignored when only the status is needed: %j',
    async (script) => {
      bed.server.answerAlways('*', script);
      expect(await bed.client().http.call({ ...checkInCall, ignoresBody: true })).toMatchObject({ status: 200 });
    },
  );

  test('with an error status and a huge body is classified by its status', async () => {
    bed.server.answerAlways('*', { status: 401, padBytes: 10_000_000 });
    expect((await faultOf(bed)).ending).toBe('unauthenticated');
  });

  it.each([['{'], ['<html>'], [Buffer.from([0x22, 0xff, 0x22])], ['']])('%j is not JSON', async (body) => {
    bed.server.answerAlways('*', { status: 200, body });
    expect((await bed.client().http.call(checkInCall)).json).toBeUndefined();
  });

  test('that is not HTTP is PROTOCOL_INVALID', async () => {
    const strange = await listen('SSH-2.0-OpenSSH_9.2\r\n');
    const url = `http://127.0.0.1:${(strange.address() as AddressInfo).port}`;
    expect((await faultOf(bed, { tenancy_url: url })).message).toMatch(
      /PROTOCOL_INVALID: .*the answer is not HTTP \(HPE_/,
    );
    strange.close();
  });
});

describe('trust', () => {
  const untrusted = async (words: string, changed: Partial<Settings> = {}) => {
    const fault = await faultOf(bed, changed);
    expect(fault).toMatchObject({ ending: 'failed', code: 'TLS_UNTRUSTED' });
    expect(fault.message).toMatch(new RegExp(words));
    expect(bed.server.requests).toHaveLength(0);
  };

  it.each([
    ['of another authority', () => createCa().issue(['127.0.0.1']), 'is not trusted here \\('],
    ['for another name', () => bed.ca.issue(['localhost']), 'the certificate is for localhost, not for 127.0.0.1 \\('],
    [
      'that is expired',
      () => bed.ca.issue(['127.0.0.1'], { expired: true }),
      'expired at .*renew the certificate on the server',
    ],
    [
      'that is not valid yet',
      () => bed.ca.issue(['127.0.0.1'], { early: true }),
      'is valid from .*: if the clock is wrong, set it',
    ],
  ])('a certificate %s is refused', async (_title, certificate, words) => {
    bed.server.setCertificate(certificate());
    await untrusted(`^TLS_UNTRUSTED: tenancy service ${bed.server.url}: .*${words}`);
  });

  test('a private authority is not trusted by the roots of the system', async () => {
    await untrusted('is not trusted here .*add "deployd fixture CA" to tenancy_ca', { tenancy_ca: null });
  });

  test('a missing CA file is named', async () => {
    await untrusted('cannot be used', { tenancy_ca: '/nonexistent/ca.pem' });
  });

  test('no environment variable disables verification', async () => {
    process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0';
    process.env.HTTPS_PROXY = 'http://127.0.0.1:1';
    try {
      bed.server.setCertificate(createCa().issue(['127.0.0.1']));
      await untrusted('is not trusted here');
      bed.server.setCertificate(bed.certificate);
      expect(await bed.client().http.call(checkInCall)).toMatchObject({ status: 200 });
    } finally {
      delete process.env.NODE_TLS_REJECT_UNAUTHORIZED;
      delete process.env.HTTPS_PROXY;
    }
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
