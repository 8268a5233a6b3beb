import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Answer, ReceivedRequest } from '../../../../fixtures/servers/http/httpsServer.ts';
import { openHttpTestbed, type HttpTestbed } from '../../../../fixtures/servers/http/httpTestbed.ts';
import type { Settings } from '../../config/settings.ts';
import { createDownload } from './download.ts';
import { createHttpClient, type HttpClient } from './httpClient.ts';
import { createTransport } from '../transport/createTransport.ts';

type Client = { http: HttpClient };

function connect(settings: Settings): Client & { close: () => void } {
  const transport = createTransport(settings);
  return { http: createHttpClient({ settings, transport, version: '0.2.0' }), close: transport.close };
}

const bundle = randomBytes(3_000_000);
const sha = createHash('sha256').update(bundle).digest('hex');
const route = `/v1/agent/bundles/${sha}`;
const never = new AbortController().signal;

let bed: HttpTestbed<Client>;
let calls: ReceivedRequest[];
let ranges: 'honoured' | 'ignored' | 'wrong' | 'refused';
beforeEach(async () => {
  calls = [];
  ranges = 'honoured';
  bed = await openHttpTestbed(connect, (call) => {
    calls.push(call);
    return serveBundle(call.headers.range);
  });
});
afterEach(() => bed.close());

function serveBundle(range: string | undefined): Answer {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  if (from === 0 || ranges === 'ignored') return { status: 200, body: bundle };
  if (ranges === 'refused') return { status: 416, headers: { 'content-range': `bytes */${bundle.length}` } };
  const progress = ranges === 'wrong' ? from + 1 : from;
  const contentRange = `bytes ${progress}-${bundle.length - 1}/${bundle.length}`;
  return { status: 206, headers: { 'content-range': contentRange }, body: bundle.subarray(from) };
}

const part = () => join(bed.dir, 'bundle.part');
const file = () => join(bed.dir, 'bundle');

async function download(changed: Partial<Settings> = {}, wanted = {}, signal = never): Promise<void> {
  const parts = { ...bed.client(changed), vault: bed.vault, requestId: () => 'tick-1' };
  await createDownload(parts)({ sha, sizeBytes: bundle.length, partialFile: part(), file: file(), ...wanted }, signal);
}

async function whole(): Promise<void> {
  expect((await readFile(file())).equals(bundle)).toBe(true);
  expect(existsSync(part())).toBe(false);
}

const requestedRanges = () => calls.map(({ headers }) => headers.range ?? null);

test('a bundle is downloaded with the bearer into a private file with its final name', async () => {
  await download();
  await whole();
  expect((await stat(file())).mode & 0o777).toBe(0o600);
  expect(calls[0]!.headers).toMatchObject({ authorization: 'Bearer s.agenttoken', 'x-request-id': 'tick-1' });
});

describe('an interrupted download', () => {
  test('is resumed by range, with a digest over all bytes', async () => {
    bed.server.answerNext(route, { cut: 'body' }, 2);
    bed.server.answerNext(route, { stall: 'body' });
    await download({ download_stall_s: 2 });
    await whole();
    expect(calls).toHaveLength(4);
    const offsets = requestedRanges().map((range) => Number(/\d+/.exec(range ?? '0')));
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    expect(offsets[3]).toBeGreaterThan(1_000_000);
  });

  test('is resumed after a stall', async () => {
    bed.server.answerNext(route, { stall: 'body' });
    await download({ download_stall_s: 2 });
    await whole();
    expect(calls).toHaveLength(2);
  });

  test('is not assumed while bytes arrive slowly', async () => {
    bed.server.answerAlways(route, { slow: { bytes: 100_000, everyMs: 50 } });
    await download({ download_stall_s: 1 });
    await whole();
    expect(calls).toHaveLength(1);
  });

  test('is resumed by the next tick', async () => {
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    await download();
    await whole();
    expect(requestedRanges()).toEqual(['bytes=1000000-']);
  });

  test('without new bytes is a temporary fault, and the partial file stays', async () => {
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    bed.server.answerAlways(route, { stall: 'head' });
    await expect(download({ download_stall_s: 2 })).rejects.toMatchObject({
      ending: 'offline',
      message: `temporary network failure: tenancy service ${bed.server.url}: no more bytes came`,
    });
    expect((await stat(part())).size).toBe(1_000_000);
  });

  test('ends at its total timeout, although bytes keep arriving', async () => {
    bed.server.answerAlways(route, { slow: { bytes: 1000, everyMs: 20 } });
    await expect(download({ download_timeout_s: 2 })).rejects.toMatchObject({ ending: 'offline' });
    expect((await stat(part())).size).toBeGreaterThan(0);
  });

  test('ends on SIGTERM and keeps the partial file', async () => {
    bed.server.answerAlways(route, { stall: 'body' });
    const stop = new AbortController();
    const ended = expect(download({}, {}, stop.signal)).rejects.toMatchObject({ ending: 'stopped' });
    await bed.server.waitForRequest(route);
    stop.abort();
    await ended;
    expect(existsSync(part())).toBe(true);
  });

  test('with all bytes present needs no call', async () => {
    await writeFile(part(), bundle);
    await download();
    await whole();
    expect(calls).toHaveLength(0);
  });
});

describe('a range', () => {
  it.each(['ignored', 'wrong', 'refused'] as const)('that is %s leads to a restart', async (how) => {
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    ranges = how;
    await download();
    await whole();
    expect(calls.length).toBeLessThanOrEqual(2);
  });

  test('that is offered and refused repeatedly is PROTOCOL_INVALID', async () => {
    bed.server.answerNext(route, { stall: 'body' });
    bed.server.answerNext(route, { status: 416 });
    bed.server.answerNext(route, { stall: 'body' });
    bed.server.answerNext(route, { status: 416 });
    await expect(download({ download_stall_s: 2 })).rejects.toMatchObject({
      ending: 'failed',
      code: 'PROTOCOL_INVALID',
    });
  });

  test('that continues corrupt bytes on disk leads to one restart', async () => {
    await writeFile(part(), Buffer.alloc(1_000_000));
    await download();
    await whole();
    expect(requestedRanges()).toEqual(['bytes=1000000-', null]);
  });

  test('is not requested when the partial file is larger than announced', async () => {
    await writeFile(part(), Buffer.alloc(bundle.length + 1));
    await download();
    await whole();
    expect(requestedRanges()).toEqual([null]);
  });
});

describe('a refusal', () => {
  test('of bytes with another digest removes them', async () => {
    bed.server.answerAlways(route, { status: 200, body: Buffer.from('something else') });
    await expect(download()).rejects.toMatchObject({ ending: 'refused', code: 'BUNDLE_DIGEST' });
    expect(existsSync(part()) || existsSync(file())).toBe(false);
  });

  test('of an announced size beyond the limit sends no request', async () => {
    await expect(download({}, { sizeBytes: 50_000_001 })).rejects.toMatchObject({
      message: 'refused: BUNDLE_UNSAFE: 50000001 bytes, limits.bundle_bytes allows 50000000',
    });
    expect(calls).toHaveLength(0);
  });

  test('of a Content-Length beyond the limit reads nothing', async () => {
    const headers = { 'content-length': '50000001' };
    bed.server.answerAlways(route, { status: 200, headers, body: bundle, stall: 'body' });
    await expect(download()).rejects.toMatchObject({ ending: 'refused', code: 'BUNDLE_UNSAFE' });
    expect((await stat(part())).size).toBe(0);
  });

  test('of a Content-Length beyond the announced size reads nothing', async () => {
    await expect(download({}, { sizeBytes: 2_000_000 })).rejects.toMatchObject({
      message: 'refused: BUNDLE_DIGEST: more bytes than the 2000000 announced',
    });
    expect((await stat(part())).size).toBe(0);
  });

  test('of a body without length ends at the announced size', async () => {
    const endless = createServer((_request, response) => {
      const sendForever = function* () {
        for (;;) yield bundle;
      };
      Readable.from(sendForever())
        .on('error', () => undefined)
        .pipe(response.on('error', () => undefined));
    });
    endless.listen(0, '127.0.0.1');
    await once(endless, 'listening');
    const tenancy_url = `http://127.0.0.1:${(endless.address() as AddressInfo).port}`;
    await expect(download({ tenancy_url })).rejects.toMatchObject({ code: 'BUNDLE_DIGEST' });
    expect((await stat(part())).size).toBeLessThanOrEqual(bundle.length);
    endless.close();
  });
});

describe('a redirect', () => {
  let elsewhere: HttpTestbed<Client>;
  let received: ReceivedRequest[];
  beforeEach(async () => {
    received = [];
    elsewhere = await openHttpTestbed(connect, (call) => {
      received.push(call);
      return serveBundle(call.headers.range);
    });
    elsewhere.server.setCertificate(bed.ca.issue(['127.0.0.1']));
  });
  afterEach(() => elsewhere.close());

  const redirect = (location: string) => bed.server.answerAlways(route, { status: 302, headers: { location } });

  test('to another origin is followed without the bearer', async () => {
    redirect(`${elsewhere.server.url}/storage?signature=1`);
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    await download();
    await whole();
    expect(received).toHaveLength(1);
    expect(received[0]!.headers).toMatchObject({ range: 'bytes=1000000-' });
    expect(received[0]!.headers).not.toHaveProperty('authorization');
  });

  test('within the origin keeps the bearer', async () => {
    redirect('/elsewhere');
    await download();
    await whole();
    expect(calls.at(-1)).toMatchObject({ path: '/elsewhere', headers: { authorization: 'Bearer s.agenttoken' } });
  });

  test('to a server with a certificate of another authority is rejected', async () => {
    elsewhere.server.setCertificate(elsewhere.certificate);
    redirect(`${elsewhere.server.url}/storage`);
    await expect(download()).rejects.toMatchObject({ code: 'TLS_UNTRUSTED' });
    expect(received).toHaveLength(0);
  });

  it('to a server with a certificate of another authority names that server', async () => {
    elsewhere.server.setCertificate(elsewhere.certificate);
    redirect(`${elsewhere.server.url}/storage`);
    await expect(download()).rejects.toMatchObject({
      message: expect.stringContaining(`TLS_UNTRUSTED: storage host ${elsewhere.server.url}: `) as string,
    });
  });

  describe('with a link that the storage host rejects', () => {
    const storage = () => `storage host ${elsewhere.server.url}`;
    beforeEach(() => redirect(`${elsewhere.server.url}/storage`));

    it.each<[string, number, object]>([
      ['401', 401, {}],
      ['403', 403, {}],
      [
        '403 with an error body of the tenancy service',
        403,
        { error: { code: 'AGENT_ENV_MISMATCH', message: 'another env' } },
      ],
      ['404', 404, {}],
      ['410', 410, {}],
    ])('by %s fails the download after three links', async (_what, status, json) => {
      elsewhere.server.answerAlways('/storage', { status, body: JSON.stringify(json) });
      await expect(download()).rejects.toMatchObject({
        ending: 'failed',
        code: 'PROTOCOL_INVALID',
        message: expect.stringContaining(`PROTOCOL_INVALID: ${storage()}: bundle answered ${status}`) as string,
      });
      expect([bed.server.requests.length, elsewhere.server.requests.length]).toEqual([3, 3]);
    });

    it('is followed by a request for a new link', async () => {
      await writeFile(part(), bundle.subarray(0, 1_000_000));
      elsewhere.server.answerNext('/storage', { status: 403 });
      await download();
      await whole();
      expect(received.map(({ headers }) => headers.range)).toEqual(['bytes=1000000-']);
    });

    it('by a timeout is temporary, and names the storage host', async () => {
      elsewhere.server.answerAlways('/storage', { status: 503 });
      await expect(download()).rejects.toMatchObject({
        ending: 'offline',
        message: `temporary network failure: ${storage()}: bundle answered 503`,
      });
    });

    it('by an unexpected status names the storage host', async () => {
      elsewhere.server.answerAlways('/storage', { status: 204 });
      await expect(download()).rejects.toMatchObject({
        message: `PROTOCOL_INVALID: ${storage()}: bundle answered 204`,
      });
    });
  });

  it.each(['http://192.0.2.1/', 'ftp://127.0.0.1/', 'https://user:pass@127.0.0.1/', 'http://', ''])(
    'to %j is not followed',
    async (location) => {
      redirect(location);
      await expect(download()).rejects.toMatchObject({ code: 'PROTOCOL_INVALID' });
    },
  );

  test('is followed three times, not four', async () => {
    redirect(route);
    await expect(download()).rejects.toMatchObject({ message: 'PROTOCOL_INVALID: bundle: more than 3 redirects' });
    expect(bed.server.requests).toHaveLength(4);
  });
});

test('a response without a bundle is PROTOCOL_INVALID', async () => {
  bed.server.answerAlways(route, { status: 204 });
  await expect(download()).rejects.toMatchObject({ code: 'PROTOCOL_INVALID' });
});

test('a symbolic link in place of the partial file is not followed', async () => {
  await symlink('/etc/hostname', part());
  await expect(download()).rejects.toMatchObject({ ending: 'failed', code: 'DISK_WRITE_FAILED' });
});

test('a 401 is AGENT_UNAUTHENTICATED', async () => {
  bed.server.answerAlways(route, { status: 401 });
  await expect(download()).rejects.toMatchObject({ ending: 'unauthenticated' });
});
