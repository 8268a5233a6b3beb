import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { Answer, Call } from '../../../../fixtures/servers/http.ts';
import { openTestbed, type Testbed } from '../../../../fixtures/testbed.ts';
import type { Settings } from '../../config/settings.ts';
import { createDownload } from './download.ts';
import { createHttp, type Http } from './http.ts';
import { createTransport } from '../transport/transport.ts';

type Client = { http: Http };

function connect(settings: Settings): Client & { close: () => void } {
  const transport = createTransport(settings);
  return { http: createHttp({ settings, transport, version: '0.2.0' }), close: transport.close };
}

const bundle = randomBytes(3_000_000);
const sha = createHash('sha256').update(bundle).digest('hex');
const route = `/v1/agent/bundles/${sha}`;
const never = new AbortController().signal;

let bed: Testbed<Client>;
let calls: Call[];
let ranges: 'honoured' | 'ignored' | 'wrong' | 'refused';
beforeEach(async () => {
  calls = [];
  ranges = 'honoured';
  bed = await openTestbed(connect, (call) => {
    calls.push(call);
    return serveBundle(call.headers.range);
  });
});
afterEach(() => bed.close());

function serveBundle(range: string | undefined): Answer {
  const from = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
  if (from === 0 || ranges === 'ignored') return { status: 200, body: bundle };
  if (ranges === 'refused') return { status: 416, headers: { 'content-range': `bytes */${bundle.length}` } };
  const told = ranges === 'wrong' ? from + 1 : from;
  const contentRange = `bytes ${told}-${bundle.length - 1}/${bundle.length}`;
  return { status: 206, headers: { 'content-range': contentRange }, body: bundle.subarray(from) };
}

const part = () => join(bed.dir, 'bundle.part');
const file = () => join(bed.dir, 'bundle');

async function download(changed: Partial<Settings> = {}, wanted = {}, signal = never): Promise<void> {
  const parts = { ...bed.client(changed), vault: bed.vault, requestId: () => 'tick-1' };
  await createDownload(parts)({ sha, sizeBytes: bundle.length, part: part(), file: file(), ...wanted }, signal);
}

async function whole(): Promise<void> {
  expect((await readFile(file())).equals(bundle)).toBe(true);
  expect(existsSync(part())).toBe(false);
}

const askedRanges = () => calls.map(({ headers }) => headers.range ?? null);

test('a bundle is fetched with the bearer and lies private under its final name', async () => {
  await download();
  await whole();
  expect((await stat(file())).mode & 0o777).toBe(0o600);
  expect(calls[0]!.headers).toMatchObject({ authorization: 'Bearer s.agenttoken', 'x-request-id': 'tick-1' });
});

describe('a cut download', () => {
  test('is resumed by range, with the digest over the whole', async () => {
    bed.server.answerNext(route, { cut: 'body' }, 2);
    bed.server.answerNext(route, { stall: 'body' });
    await download({ download_stall_s: 2 });
    await whole();
    expect(calls).toHaveLength(4);
    const offsets = askedRanges().map((range) => Number(/\d+/.exec(range ?? '0')));
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    expect(offsets[3]).toBeGreaterThan(1_000_000);
  });

  test('is resumed after a silence', async () => {
    bed.server.answerNext(route, { stall: 'body' });
    await download({ download_stall_s: 2 });
    await whole();
    expect(calls).toHaveLength(2);
  });

  test('is not taken for one that is slow but moves', async () => {
    bed.server.answerAlways(route, { slow: { bytes: 100_000, everyMs: 50 } });
    await download({ download_stall_s: 1 });
    await whole();
    expect(calls).toHaveLength(1);
  });

  test('is resumed by the next tick', async () => {
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    await download();
    await whole();
    expect(askedRanges()).toEqual(['bytes=1000000-']);
  });

  test('that brings no bytes at all is a temporary fault, and what came stays', async () => {
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    bed.server.answerAlways(route, { stall: 'head' });
    await expect(download({ download_stall_s: 2 })).rejects.toMatchObject({
      ending: 'offline',
      message: `temporary network failure: tenancy service ${bed.server.url}: no more bytes came`,
    });
    expect((await stat(part())).size).toBe(1_000_000);
  });

  test('ends when its whole time is over, though bytes keep coming', async () => {
    bed.server.answerAlways(route, { slow: { bytes: 1000, everyMs: 20 } });
    await expect(download({ download_timeout_s: 2 })).rejects.toMatchObject({ ending: 'offline' });
    expect((await stat(part())).size).toBeGreaterThan(0);
  });

  test('ends with SIGTERM and keeps what came', async () => {
    bed.server.answerAlways(route, { stall: 'body' });
    const stop = new AbortController();
    const ended = expect(download({}, {}, stop.signal)).rejects.toMatchObject({ ending: 'stopped' });
    await bed.server.asked(route);
    stop.abort();
    await ended;
    expect(existsSync(part())).toBe(true);
  });

  test('whose bytes were all there needs no call', async () => {
    await writeFile(part(), bundle);
    await download();
    await whole();
    expect(calls).toHaveLength(0);
  });
});

describe('a range', () => {
  it.each(['ignored', 'wrong', 'refused'] as const)('that is %s leads to a new start', async (how) => {
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    ranges = how;
    await download();
    await whole();
    expect(calls.length).toBeLessThanOrEqual(2);
  });

  test('that is promised and refused again and again is a fault of the protocol', async () => {
    bed.server.answerNext(route, { stall: 'body' });
    bed.server.answerNext(route, { status: 416 });
    bed.server.answerNext(route, { stall: 'body' });
    bed.server.answerNext(route, { status: 416 });
    await expect(download({ download_stall_s: 2 })).rejects.toMatchObject({
      ending: 'failed',
      code: 'PROTOCOL_INVALID',
    });
  });

  test('that continues rotten bytes on the disk costs one new start', async () => {
    await writeFile(part(), Buffer.alloc(1_000_000));
    await download();
    await whole();
    expect(askedRanges()).toEqual(['bytes=1000000-', null]);
  });

  test('is not asked for when more lies there than announced', async () => {
    await writeFile(part(), Buffer.alloc(bundle.length + 1));
    await download();
    await whole();
    expect(askedRanges()).toEqual([null]);
  });
});

describe('a refusal', () => {
  test('of other bytes takes them from the disk', async () => {
    bed.server.answerAlways(route, { status: 200, body: Buffer.from('something else') });
    await expect(download()).rejects.toMatchObject({ ending: 'refused', code: 'BUNDLE_DIGEST' });
    expect(existsSync(part()) || existsSync(file())).toBe(false);
  });

  test('of an announced size beyond the limit asks for nothing', async () => {
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

  test('of bytes without a length ends at the announced size, however many would come', async () => {
    const endless = createServer((_request, response) => {
      const endlessly = function* () {
        for (;;) yield bundle;
      };
      Readable.from(endlessly())
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
  let elsewhere: Testbed<Client>;
  let seen: Call[];
  beforeEach(async () => {
    seen = [];
    elsewhere = await openTestbed(connect, (call) => {
      seen.push(call);
      return serveBundle(call.headers.range);
    });
    elsewhere.server.present(bed.ca.issue(['127.0.0.1']));
  });
  afterEach(() => elsewhere.close());

  const redirect = (location: string) => bed.server.answerAlways(route, { status: 302, headers: { location } });

  test('to another origin is followed without the bearer', async () => {
    redirect(`${elsewhere.server.url}/storage?signature=1`);
    await writeFile(part(), bundle.subarray(0, 1_000_000));
    await download();
    await whole();
    expect(seen).toHaveLength(1);
    expect(seen[0]!.headers).toMatchObject({ range: 'bytes=1000000-' });
    expect(seen[0]!.headers).not.toHaveProperty('authorization');
  });

  test('within the origin keeps the bearer', async () => {
    redirect('/elsewhere');
    await download();
    await whole();
    expect(calls.at(-1)).toMatchObject({ path: '/elsewhere', headers: { authorization: 'Bearer s.agenttoken' } });
  });

  test('to a server of another authority is not trusted', async () => {
    elsewhere.server.present(elsewhere.certificate);
    redirect(`${elsewhere.server.url}/storage`);
    await expect(download()).rejects.toMatchObject({ code: 'TLS_UNTRUSTED' });
    expect(seen).toHaveLength(0);
  });

  it('to a server of another authority names that server', async () => {
    elsewhere.server.present(elsewhere.certificate);
    redirect(`${elsewhere.server.url}/storage`);
    await expect(download()).rejects.toMatchObject({
      message: expect.stringContaining(`TLS_UNTRUSTED: storage host ${elsewhere.server.url}: `) as string,
    });
  });

  describe('whose link is refused by the storage host', () => {
    const storage = () => `storage host ${elsewhere.server.url}`;
    beforeEach(() => redirect(`${elsewhere.server.url}/storage`));

    it.each<[string, number, object]>([
      ['401', 401, {}],
      ['403', 403, {}],
      [
        '403 in the words of the tenancy service',
        403,
        { error: { code: 'AGENT_ENV_MISMATCH', message: 'another env' } },
      ],
      ['404', 404, {}],
      ['410', 410, {}],
    ])('by %s is the trouble of the download, after three links', async (_what, status, json) => {
      elsewhere.server.answerAlways('/storage', { status, body: JSON.stringify(json) });
      await expect(download()).rejects.toMatchObject({
        ending: 'failed',
        code: 'PROTOCOL_INVALID',
        message: expect.stringContaining(`PROTOCOL_INVALID: ${storage()}: bundle answered ${status}`) as string,
      });
      expect([bed.server.requests.length, elsewhere.server.requests.length]).toEqual([3, 3]);
    });

    it('is asked for anew, and the new link is taken', async () => {
      await writeFile(part(), bundle.subarray(0, 1_000_000));
      elsewhere.server.answerNext('/storage', { status: 403 });
      await download();
      await whole();
      expect(seen.map(({ headers }) => headers.range)).toEqual(['bytes=1000000-']);
    });

    it('by silence is temporary, under its own name', async () => {
      elsewhere.server.answerAlways('/storage', { status: 503 });
      await expect(download()).rejects.toMatchObject({
        ending: 'offline',
        message: `temporary network failure: ${storage()}: bundle answered 503`,
      });
    });

    it('by an odd status is told with its name', async () => {
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

test('an answer without a bundle is a fault of the protocol', async () => {
  bed.server.answerAlways(route, { status: 204 });
  await expect(download()).rejects.toMatchObject({ code: 'PROTOCOL_INVALID' });
});

test('a link in place of the part is not followed', async () => {
  await symlink('/etc/hostname', part());
  await expect(download()).rejects.toMatchObject({ ending: 'failed', code: 'DISK_WRITE_FAILED' });
});

test('a 401 means that the bearer is refused', async () => {
  bed.server.answerAlways(route, { status: 401 });
  await expect(download()).rejects.toMatchObject({ ending: 'unauthenticated' });
});
