import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import { hostileArchives } from '../../../fixtures/world/bundles/hostileArchives.ts';
import {
  endOfArchive,
  gnuLongName,
  paxHeader,
  paxRecord,
  tarDirectory,
  tarEntry,
} from '../../../fixtures/world/bundles/tarBlocks.ts';
import { Fault } from '../../../machines/fault.ts';
import { unpack } from './archive.ts';

const limits = { bundle_bytes: 64 * 2 ** 20, unpacked_bytes: 100 * 2 ** 20, bundle_entries: 50 };
let dir: string;
let into: string;
/** Starts whole processes, possibly on a busy machine. */

beforeEach(() => {
  dir = fs.mkdtempSync(join(tmpdir(), 'archive-'));
  into = join(dir, 'into');
  fs.mkdirSync(into, 0o700);
});
afterEach(() => fs.rmSync(dir, { recursive: true }));

async function unpackBytes(bytes: Buffer, more: Partial<typeof limits> = {}, signal?: AbortSignal): Promise<void> {
  fs.writeFileSync(join(dir, 'bundle'), bytes);
  const request = { file: join(dir, 'bundle'), into, limits: { ...limits, ...more } };
  await unpack({ ...request, signal: signal ?? new AbortController().signal });
}
const unpackTar = (blocks: Buffer[], more = {}): Promise<void> =>
  unpackBytes(gzipSync(Buffer.concat([...blocks, endOfArchive])), more);

async function refusalOf(work: Promise<void>): Promise<string> {
  const fault: unknown = await work.then(
    () => 'was unpacked',
    (thrown: unknown) => thrown,
  );
  expect(fault).toBeInstanceOf(Fault);
  expect(fault).toMatchObject({ ending: 'refused', code: 'BUNDLE_UNSAFE' });
  expect(fs.readdirSync(into)).toEqual([]);
  expect(fs.readdirSync(dir).sort()).toEqual(['bundle', 'into']);
  return (fault as Fault).message;
}

function tree(): Record<string, string> {
  const names = fs.readdirSync(into, { recursive: true, encoding: 'utf8' }).sort();
  const modeOf = (name: string): string => (fs.statSync(join(into, name)).mode & 0o7777).toString(8);
  return Object.fromEntries(names.map((name) => [name, modeOf(name)]));
}

it('refuses an archive that was exchanged after its digest was verified, and leaves nothing', async () => {
  const bytes = gzipSync(Buffer.concat([tarEntry('manifest.json', '{}'), endOfArchive]));
  const unpackAs = async (sha256: string) => {
    fs.writeFileSync(join(dir, 'bundle'), bytes);
    await unpack({ file: join(dir, 'bundle'), sha256, into, limits, signal: new AbortController().signal });
  };
  await expect(unpackAs('0'.repeat(64))).rejects.toMatchObject({ ending: 'refused', code: 'BUNDLE_DIGEST' });
  expect(tree()).toEqual({});
  await unpackAs(createHash('sha256').update(bytes).digest('hex'));
  expect(tree()).toEqual({ 'manifest.json': '644' });
});

const oldForm = (name: string) => tarEntry(name, '', { magic: '' });

describe('a valid bundle', () => {
  const blocks = [
    tarDirectory('./'),
    tarEntry('./manifest.json', '{}'),
    tarEntry('bin/run', '#!/bin/sh\n', { mode: '0000700' }),
    tarDirectory('bin/'),
    tarEntry('deep/er/file', 'x'.repeat(5000), { mode: '0000600' }),
    tarEntry('empty'),
    tarEntry('file', 'in two', { prefix: 'conf/sub' }),
  ];
  const expected = {
    ...{ bin: '755', 'bin/run': '755', conf: '755', 'conf/sub': '755', 'conf/sub/file': '644', deep: '755' },
    ...{ 'deep/er': '755', 'deep/er/file': '644', empty: '644', 'manifest.json': '644' },
  };

  it.each([
    ['gzip', gzipSync],
    ['zstd', zstdCompressSync],
  ])('is unpacked from %s with the modes of a release, whatever the umask', async (_, compress) => {
    const before = process.umask(0o077);
    await unpackBytes(compress(Buffer.concat([...blocks, endOfArchive]))).finally(() => process.umask(before));
    expect(tree()).toEqual(expected);
    expect(fs.readFileSync(join(into, 'deep/er/file'), 'utf8')).toBe('x'.repeat(5000));
    expect(fs.readFileSync(join(into, 'conf/sub/file'), 'utf8')).toBe('in two');
    expect((fs.statSync(into).mode & 0o777).toString(8)).toBe('700');
  });

  it.each([
    ['gnu', '3000000000'],
    ['pax', '3000000000'],
    ['ustar', '2000000'],
    ['posix', '4294967295'],
  ])('is unpacked from the GNU tar format %s, with owner %s', async (format, owner) => {
    const from = join(dir, 'from');
    const path = 'a-directory-of-some-length/'.repeat(4) + 'file';
    fs.mkdirSync(join(from, path, '..'), { recursive: true });
    fs.writeFileSync(join(from, path), 'text');
    fs.writeFileSync(join(from, 'big'), Buffer.alloc(300_000, 'pseudo random'));
    const args = [`--format=${format}`, `--owner=builder:${owner}`, '-C', from, '-cz', '.'];
    const { stdout, status } = spawnSync('tar', args, { maxBuffer: 2 ** 24 });
    expect(status).toBe(0);
    await unpackBytes(stdout);
    expect(fs.readFileSync(join(into, path), 'utf8')).toBe('text');
    expect(fs.readFileSync(join(into, 'big'))).toEqual(fs.readFileSync(join(from, 'big')));
  });

  it.each<[string, Buffer[]]>([
    ['a long name by GNU', [gnuLongName(`d/${'n'.repeat(200)}`), tarEntry('cut', 'x', { magic: 'ustar  \0' })]],
    ['a long name by pax', [paxHeader(['path', `d/${'n'.repeat(200)}`], ['mtime', '1.5']), tarEntry('cut', 'x')]],
    ['the same size twice', [paxHeader(['size', '1'], ['path', `d/${'n'.repeat(200)}`]), tarEntry('cut', 'x')]],
    [
      'the comment of a git archive',
      [tarEntry('pax_global_header', paxRecord('comment', 'abc'), { type: 'g' }), tarEntry(`d/${'n'.repeat(98)}`)],
    ],
    [
      'attributes of macOS',
      [paxHeader(['SCHILY.xattr.com.apple.x', '\0\n8 a=b\n'], ['mtime', '-1.5']), tarEntry('d/n')],
    ],
    ['a directory of the old form, twice', [oldForm('d/'), oldForm('d/'), tarEntry('./d//n')]],
    ['a directory that passes on its group', [tarDirectory('d', { mode: '0002775' }), tarEntry('d/n')]],
    ['a time before 1970', [tarEntry('d/n', '', { mtime: `${'\xff'.repeat(11)}\xfb`, magic: 'ustar  \0' })]],
  ])('may have %s', async (_, blocks) => {
    await unpackTar(blocks);
    expect(fs.readdirSync(join(into, 'd'))[0]).toMatch(/^n+$/);
    expect((fs.statSync(join(into, 'd')).mode & 0o7777).toString(8)).toBe('755');
  });

  it('keeps names that differ only in their Unicode form', async () => {
    await unpackTar([tarEntry('d/\u00e9', '1'), tarEntry('d/e\u0301', '2')]);
    expect(fs.readdirSync(join(into, 'd')).toSorted()).toEqual(['e\u0301', '\u00e9']);
  });

  const tar = Buffer.concat([...blocks, endOfArchive]);
  const halves = [tar.subarray(0, 1000), tar.subarray(1000)];
  const skipped = Buffer.from('502a4d180400000061626364', 'hex');
  it.each<[string, Buffer]>([
    ['gzip members', Buffer.concat(halves.map((half) => gzipSync(half)))],
    ['zstd frames', Buffer.concat(halves.map((half) => zstdCompressSync(half)))],
    ['zstd frames between skipped ones', Buffer.concat([skipped, zstdCompressSync(tar), skipped])],
  ])('is unpacked from several %s', async (_, bytes) => {
    await unpackBytes(bytes);
    expect(tree()).toEqual(expected);
  });
});

describe('a malicious bundle leaves nothing behind:', () => {
  it.each(hostileArchives)('%s', async (_, blocks, fault) => {
    const message = await refusalOf(unpackTar(blocks));
    expect(message).toContain('refused: BUNDLE_UNSAFE: ');
    expect(message).toContain(fault);
  });
});

describe('a damaged bundle leaves nothing behind:', () => {
  const tar = Buffer.concat([tarEntry('a', 'x'.repeat(3000)), endOfArchive]);
  it.each<[string, Buffer, string]>([
    ['an empty file', Buffer.alloc(0), 'neither gzip nor zstd'],
    ['a plain tar', tar, 'neither gzip nor zstd'],
    ['a tar compressed twice', gzipSync(gzipSync(tar)), 'cut short'],
    ['an archive without entries', gzipSync(Buffer.alloc(0)), 'cut short'],
    ['an archive truncated in a body', gzipSync(tar.subarray(0, 1024)), 'cut short'],
    ['an archive truncated in a header', gzipSync(tar.subarray(0, 100)), 'cut short'],
    ['an archive without its end marker', gzipSync(tar.subarray(0, -1024)), 'cut short'],
    ['an archive with half its end marker', gzipSync(tar.subarray(0, -512)), 'cut short'],
    ['some bytes after the last block', gzipSync(Buffer.concat([tar, Buffer.alloc(3)])), 'cut short'],
    ['a truncated gzip', gzipSync(tar).subarray(0, -9), 'is damaged (Z_BUF_ERROR)'],
    ['a truncated zstd', zstdCompressSync(tar).subarray(0, -4), 'is damaged (Z_BUF_ERROR)'],
    ['a gzip with a wrong checksum', Buffer.concat([gzipSync(tar).subarray(0, -8), Buffer.alloc(8)]), 'is damaged'],
    ['bytes after a gzip', Buffer.concat([gzipSync(tar), Buffer.from('garbage')]), 'is damaged (Z_'],
    ['zeros after a gzip', Buffer.concat([gzipSync(tar), Buffer.alloc(20)]), 'bytes follow the end of the archive'],
    ['many zeros after a gzip', Buffer.concat([gzipSync(tar), Buffer.alloc(2 ** 20)]), 'bytes follow the end'],
    ['two archives in gzip', Buffer.concat([gzipSync(tar), gzipSync(tar)]), 'something follows the end'],
    ['an archive of xz', Buffer.from('fd377a585a00', 'hex'), 'the bundle is xz, neither gzip nor zstd'],
    ['a window beyond 8 MiB', Buffer.from('28b52ffd0070000000', 'hex'), 'its zstd window is larger than 8 MiB'],
    [
      'a path hidden in an attribute',
      gzipSync(Buffer.concat([paxHeader(['SCHILY.xattr.user.x', 'x\n14 path=../ev']), tarEntry('a'), endOfArchive])),
      'can be read in two ways',
    ],
    ['bytes after a zstd', Buffer.concat([zstdCompressSync(tar), Buffer.from('garbage')]), 'TRAILING_JUNK'],
    [
      'a decompression bomb in gzip',
      gzipSync(Buffer.concat([tarEntry('a', Buffer.alloc(20 * 2 ** 20)), endOfArchive])),
      'more than 200 times',
    ],
    [
      'a decompression bomb in zstd',
      zstdCompressSync(Buffer.concat([tarEntry('a', Buffer.alloc(20 * 2 ** 20)), endOfArchive])),
      '200 times',
    ],
  ])('%s', async (_, bytes, fault) => {
    expect(await refusalOf(unpackBytes(bytes))).toContain(fault);
  });

  it.each([
    ['unpacked_bytes', 2999],
    ['bundle_bytes', 20],
  ])('more than limits.%s', async (limit, value) => {
    expect(await refusalOf(unpackBytes(gzipSync(tar), { [limit]: value }))).toContain(
      `raise limits.${limit} of the host`,
    );
    await unpackBytes(gzipSync(tar), { unpacked_bytes: 3000 });
  });

  it('checks the size that a header declares, before its bytes arrive', async () => {
    const inconsistentEntry = tarEntry('a', '', { size: '77777777777\0' });
    expect(await refusalOf(unpackTar([inconsistentEntry]))).toContain('(limits.unpacked_bytes)');
  });
});

it('stops on abort, and leaves nothing behind', async () => {
  const stop = new AbortController();
  const body = Buffer.from(Array.from({ length: 2 ** 20 }, (_, n) => (n * n * 31) >> 7));
  const blocks = Array.from({ length: 20 }, (_, n) => tarEntry(`f${n}`, body));
  const work = unpackBytes(gzipSync(Buffer.concat([...blocks, endOfArchive])), {}, stop.signal);
  const watcher = fs.watch(into).once('change', () => stop.abort());
  await expect(work.finally(() => watcher.close())).rejects.toMatchObject({ ending: 'stopped' });
  expect(fs.readdirSync(into)).toEqual([]);
});

it('reports a file it cannot read and a directory it cannot write as faults of this host', async () => {
  const signal = new AbortController().signal;
  await expect(unpack({ file: join(dir, 'absent'), into, limits, signal })).rejects.toMatchObject({ ending: 'failed' });
  fs.rmdirSync(into);
  await expect(unpackTar([tarEntry('a', 'x')])).rejects.toMatchObject({ ending: 'failed', code: 'DISK_WRITE_FAILED' });
});

it('uses constant memory', () => {
  const program = `import { unpack } from ${JSON.stringify(join(import.meta.dirname, 'archive.ts'))};
    const limits = { bundle_bytes: 1e9, unpacked_bytes: 1e9, bundle_entries: 10 };
    await unpack({ file: process.argv[1], into: process.argv[2], limits, signal: new AbortController().signal });
    console.log(/VmHWM: *(\\d+)/.exec((await import('node:fs')).readFileSync('/proc/self/status', 'utf8').replace(/\\t/g, ''))[1]);`;
  const peak = (megabytes: number): number => {
    const line = Buffer.from(Array.from({ length: 4096 }, (_, n) => (n * n * 31) >> 7));
    const body = Buffer.alloc(megabytes * 2 ** 20, line);
    for (let at = 0; at < body.length; at += 64) body.writeUInt32LE(Math.random() * 2 ** 32, at);
    fs.writeFileSync(join(dir, 'bundle'), gzipSync(Buffer.concat([tarEntry('a', body), endOfArchive]), { level: 1 }));
    fs.rmSync(into, { recursive: true });
    fs.mkdirSync(into);
    const child = spawnSync(process.execPath, ['--input-type=module', '-e', program, join(dir, 'bundle'), into]);
    expect(String(child.stderr)).toBe('');
    expect(fs.statSync(join(into, 'a')).size).toBe(megabytes * 2 ** 20);
    return Number(child.stdout) / 1024;
  };
  const small = peak(4);
  expect(peak(160) - small).toBeLessThan(60);
});
