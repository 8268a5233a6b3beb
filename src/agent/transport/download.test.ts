import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import {
  bundle,
  type DownloadTestbed,
  openDownloadTestbed,
  route,
} from '../../../fixtures/world/servers/http/downloadTestbed.ts';

let bed: DownloadTestbed;
beforeEach(async () => void (bed = await openDownloadTestbed()));
afterEach(() => bed.close());

const requestedRanges = () => bed.received.map(({ headers }) => headers.range ?? null);

test('a bundle is downloaded with the bearer into a private file with its final name', async () => {
  await bed.download();
  await bed.expectComplete();
  expect((await stat(bed.file)).mode & 0o777).toBe(0o600);
  expect(bed.received[0]!.headers).toMatchObject({ authorization: 'Bearer s.agenttoken', 'x-request-id': 'tick-1' });
});

describe('an interrupted download', () => {
  test('is resumed by range, with a digest over all bytes', async () => {
    bed.server.answerNext(route, { cut: 'body' }, 2);
    bed.server.answerNext(route, { stall: 'body' });
    await bed.download({ download_stall_s: 2 });
    await bed.expectComplete();
    expect(bed.received).toHaveLength(4);
    const offsets = requestedRanges().map((range) => Number(/\d+/.exec(range ?? '0')));
    expect(offsets).toEqual(offsets.toSorted((a, b) => a - b));
    expect(offsets[3]).toBeGreaterThan(1_000_000);
  });

  test('is resumed after a stall', async () => {
    bed.server.answerNext(route, { stall: 'body' });
    await bed.download({ download_stall_s: 2 });
    await bed.expectComplete();
    expect(bed.received).toHaveLength(2);
  });

  test('is not assumed while bytes arrive slowly', async () => {
    bed.server.answerAlways(route, { slow: { bytes: 100_000, everyMs: 50 } });
    await bed.download({ download_stall_s: 1 });
    await bed.expectComplete();
    expect(bed.received).toHaveLength(1);
  });

  test('is resumed by the next tick', async () => {
    await writeFile(bed.partialFile, bundle.subarray(0, 1_000_000));
    await bed.download();
    await bed.expectComplete();
    expect(requestedRanges()).toEqual(['bytes=1000000-']);
  });

  test('without new bytes is a temporary fault, and the partial file stays', async () => {
    await writeFile(bed.partialFile, bundle.subarray(0, 1_000_000));
    bed.server.answerAlways(route, { stall: 'head' });
    await expect(bed.download({ download_stall_s: 2 })).rejects.toMatchObject({
      ending: 'offline',
      message: `temporary network failure: tenancy service ${bed.server.url}: no more bytes came`,
    });
    expect((await stat(bed.partialFile)).size).toBe(1_000_000);
  });

  test('ends at its total timeout, although bytes keep arriving', async () => {
    bed.server.answerAlways(route, { slow: { bytes: 1000, everyMs: 20 } });
    await expect(bed.download({ download_timeout_s: 2 })).rejects.toMatchObject({ ending: 'offline' });
    expect((await stat(bed.partialFile)).size).toBeGreaterThan(0);
  });

  test('ends on SIGTERM and keeps the partial file', async () => {
    bed.server.answerAlways(route, { stall: 'body' });
    const stop = new AbortController();
    const ended = expect(bed.download({}, { signal: stop.signal })).rejects.toMatchObject({ ending: 'stopped' });
    await bed.server.waitForRequest(route);
    stop.abort();
    await ended;
    expect(existsSync(bed.partialFile)).toBe(true);
  });

  test('with all bytes present needs no call', async () => {
    await writeFile(bed.partialFile, bundle);
    await bed.download();
    await bed.expectComplete();
    expect(bed.received).toHaveLength(0);
  });
});

describe('a range', () => {
  it.each(['ignored', 'wrong', 'refused'] as const)('that is %s leads to a restart', async (how) => {
    await writeFile(bed.partialFile, bundle.subarray(0, 1_000_000));
    bed.ranges = how;
    await bed.download();
    await bed.expectComplete();
    expect(bed.received.length).toBeLessThanOrEqual(2);
  });

  test('that is offered and refused repeatedly is PROTOCOL_INVALID', async () => {
    bed.server.answerNext(route, { stall: 'body' });
    bed.server.answerNext(route, { status: 416 });
    bed.server.answerNext(route, { stall: 'body' });
    bed.server.answerNext(route, { status: 416 });
    await expect(bed.download({ download_stall_s: 2 })).rejects.toMatchObject({
      ending: 'failed',
      code: 'PROTOCOL_INVALID',
    });
  });

  test('that continues corrupt bytes on disk leads to one restart', async () => {
    await writeFile(bed.partialFile, Buffer.alloc(1_000_000));
    await bed.download();
    await bed.expectComplete();
    expect(requestedRanges()).toEqual(['bytes=1000000-', null]);
  });

  test('is not requested when the partial file is larger than announced', async () => {
    await writeFile(bed.partialFile, Buffer.alloc(bundle.length + 1));
    await bed.download();
    await bed.expectComplete();
    expect(requestedRanges()).toEqual([null]);
  });
});

describe('a refusal', () => {
  test('of bytes with another digest removes them', async () => {
    bed.server.answerAlways(route, { status: 200, body: Buffer.from('something else') });
    await expect(bed.download()).rejects.toMatchObject({ ending: 'refused', code: 'BUNDLE_DIGEST' });
    expect(existsSync(bed.partialFile) || existsSync(bed.file)).toBe(false);
  });

  test('of an announced size beyond the limit sends no request', async () => {
    await expect(bed.download({}, { sizeBytes: 50_000_001 })).rejects.toMatchObject({
      message: expect.stringContaining(
        'refused: BUNDLE_UNSAFE: 50000001 bytes, limits.bundle_bytes allows 50000000: ',
      ) as string,
    });
    expect(bed.received).toHaveLength(0);
  });

  test('of a Content-Length beyond the limit reads nothing', async () => {
    const headers = { 'content-length': '50000001' };
    bed.server.answerAlways(route, { status: 200, headers, body: bundle, stall: 'body' });
    await expect(bed.download()).rejects.toMatchObject({ ending: 'refused', code: 'BUNDLE_UNSAFE' });
    expect((await stat(bed.partialFile)).size).toBe(0);
  });

  test('of a Content-Length beyond the announced size reads nothing', async () => {
    await expect(bed.download({}, { sizeBytes: 2_000_000 })).rejects.toMatchObject({
      message: 'refused: BUNDLE_DIGEST: more bytes than the 2000000 announced',
    });
    expect((await stat(bed.partialFile)).size).toBe(0);
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
    await expect(bed.download({ tenancy_url })).rejects.toMatchObject({ code: 'BUNDLE_DIGEST' });
    expect((await stat(bed.partialFile)).size).toBeLessThanOrEqual(bundle.length);
    endless.close();
  });
});

test('a response without a bundle is PROTOCOL_INVALID', async () => {
  bed.server.answerAlways(route, { status: 204 });
  await expect(bed.download()).rejects.toMatchObject({ code: 'PROTOCOL_INVALID' });
});

test('a symbolic link in place of the partial file is not followed', async () => {
  await symlink('/etc/hostname', bed.partialFile);
  await expect(bed.download()).rejects.toMatchObject({ ending: 'failed', code: 'DISK_WRITE_FAILED' });
});

test('a 401 is AGENT_UNAUTHENTICATED', async () => {
  bed.server.answerAlways(route, { status: 401 });
  await expect(bed.download()).rejects.toMatchObject({ ending: 'unauthenticated' });
});
