import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { Fault } from '../../../machines/fault.ts';
import { unpack } from './archive.ts';
import type { BundleContents } from './inventory.rules.ts';
import { packContents, packDirectory, readBundleDirectory } from './pack.ts';

const parent = tempDir();
const limits = { bundle_bytes: 10_000_000, unpacked_bytes: 10_000_000, bundle_entries: 100 };
const { signal } = new AbortController();
const manifest = '{"schema": 1}\n';

const long = `${'d'.repeat(90)}/${'e'.repeat(90)}`;
const files: Record<string, string> = {
  'compose.yaml': 'services: {}\n',
  'manifest.json': 'another',
  'a-b': '1',
  'a/b': '2',
  'a/manifest.json': 'not the manifest',
  [`${long}/f`]: '3',
  'größe €': '4',
  'bin/run': '#!/bin/sh\n',
  empty: '',
  large: 'x'.repeat(200_000),
  blocks: 'y'.repeat(1024),
};

function directoryOf(names: string[]): string {
  const dir = mkdtempSync(join(parent, 'dir-'));
  for (const name of names) {
    mkdirSync(dirname(join(dir, name)), { recursive: true });
    writeFileSync(join(dir, name), files[name] ?? '');
  }
  mkdirSync(join(dir, 'nothing'));
  chmodSync(join(dir, 'bin/run'), 0o700);
  return dir;
}

const archiveName = () => join(mkdtempSync(join(parent, 'archive-')), 'archive');
const pack = (dir: string, file = archiveName(), text = manifest) =>
  packDirectory({ dir, manifest: text, file, signal }, limits);

async function unpacked(file: string): Promise<{ dir: string; contents: BundleContents }> {
  const dir = mkdtempSync(join(parent, 'into-'));
  return { dir, contents: await unpack({ file, into: dir, limits, signal }) };
}

async function faultOf(work: Promise<unknown>): Promise<string> {
  const error: unknown = await work.catch((thrown: unknown) => thrown);
  return (error as Fault).message;
}

it('packs what unpacking gives back, with the new manifest', async () => {
  const [dir, file] = [directoryOf(Object.keys(files)), archiveName()];
  const { sha256, sizeBytes } = await pack(dir, file);
  const bytes = readFileSync(file);
  expect([sha256, sizeBytes]).toEqual([createHash('sha256').update(bytes).digest('hex'), bytes.length]);
  const { dir: into, contents } = await unpacked(file);
  expect(contents.directories).toEqual(['a', 'bin', dirname(long), long, 'nothing'].toSorted());
  const content = Object.fromEntries(contents.files.map(({ path }) => [path, readFileSync(join(into, path), 'utf8')]));
  expect(content).toEqual({ ...files, 'manifest.json': manifest });
  expect(contents.files.filter(({ executable }) => executable).map(({ path }) => path)).toEqual(['bin/run']);
  expect(contents.files[0]!.path).toBe('manifest.json');
});

it('gives one archive for one tree, whatever its owners, times, modes and order', async () => {
  const one = directoryOf(Object.keys(files));
  const other = directoryOf(
    Object.keys(files)
      .toReversed()
      .filter((name) => name !== 'manifest.json'),
  );
  for (const name of readdirSync(other)) utimesSync(join(other, name), 7, 7);
  chmodSync(join(other, 'a-b'), 0o600);
  chmodSync(join(other, 'bin'), 0o700);
  expect(await pack(one)).toEqual(await pack(other));
  chmodSync(join(other, 'a-b'), 0o744);
  expect(await pack(one)).not.toEqual(await pack(other));
});

it('says nothing of the machine, and is read by tar', async () => {
  const [dir, file] = [directoryOf(Object.keys(files)), archiveName()];
  await pack(dir, file);
  expect(readFileSync(file).subarray(0, 10).toString('hex')).toBe('1f8b0800000000000003');
  const list = execFileSync('tar', ['--numeric-owner', '--utc', '--quoting-style=literal', '-tvzf', file], {
    encoding: 'utf8',
    env: { ...process.env, LC_ALL: 'C.UTF-8' },
  });
  const lines = list.trim().split('\n');
  expect(lines.filter((line) => !/^(-rw-r--r--|[-d]rwxr-xr-x) 0\/0 +\d+ 1970-01-01 00:00 /.test(line))).toEqual([]);
  expect(lines.map((line) => line.split('00:00 ')[1])).toContain('größe €');
  expect(lines.map((line) => line.split('00:00 ')[1])).toContain(`${long}/f`);
});

it('gives the archive that every version has given for the tree, whatever compresses it', async () => {
  const [dir, file] = [directoryOf(Object.keys(files)), archiveName()];
  await pack(dir, file);
  const tar = createHash('sha256')
    .update(gunzipSync(readFileSync(file)))
    .digest('hex');
  expect(tar).toBe('a1f8000bf00073d612baaec7b3e1d69d970811c9fd305e38e387919c0d0776ff');
});

it('refuses what no bundle may hold, in the words of the agent, and leaves nothing', async () => {
  const [dir, file] = [directoryOf(['bin/run']), archiveName()];
  symlinkSync('bin', join(dir, 'link'));
  expect(await faultOf(pack(dir, file))).toBe(
    'refused: BUNDLE_UNSAFE: "link" is a symbolic link: pack what it leads to in its place (tar --dereference)',
  );
  expect(readdirSync(dirname(file))).toEqual([]);
});

it.each([
  ['grew', 'longer than before'],
  ['shrank', ''],
])('fails if a file %s since it was listed, and leaves nothing', async (_what, text) => {
  const [dir, file] = [directoryOf(['a-b', 'bin/run']), archiveName()];
  const contents = await readBundleDirectory(dir, limits, signal);
  writeFileSync(join(dir, 'a-b'), text);
  expect(await faultOf(packContents({ dir, manifest, file, signal }, contents))).toBe(
    `failed: ${join(dir, 'a-b')} was changed while it was packed`,
  );
  expect(readdirSync(dirname(file))).toEqual([]);
});

it('reports a file that cannot be read or written, and replaces no file', async () => {
  const [dir, file] = [directoryOf(['bin/run']), archiveName()];
  const contents = await readBundleDirectory(dir, limits, signal);
  const gone = { ...contents, files: [...contents.files, { path: 'gone', size: 1, sha256: '', executable: false }] };
  expect(await faultOf(packContents({ dir, manifest, file, signal }, gone))).toBe(
    `failed: cannot read ${join(dir, 'gone')}: no such file or directory`,
  );
  writeFileSync(file, 'kept');
  expect(await faultOf(pack(dir, file))).toBe(`failed: cannot write ${file}: another file has this name; move it away`);
  expect(readFileSync(file, 'utf8')).toBe('kept');
  expect(await faultOf(pack(dir, join(file, 'below')))).toBe(`failed: cannot write ${join(file, 'below')}: ENOTDIR`);
});

it('stops on request, and leaves nothing', async () => {
  const [dir, file] = [directoryOf(['bin/run', 'large']), archiveName()];
  const contents = await readBundleDirectory(dir, limits, signal);
  const aborted = AbortSignal.abort();
  expect(await faultOf(packContents({ dir, manifest, file, signal: aborted }, contents))).toBe('stopped by SIGTERM');
  expect(readdirSync(dirname(file))).toEqual([]);
});

it.each(['gzip', 'zstd'] as const)('compresses with %s', async (compression) => {
  const [dir, file] = [directoryOf(['bin/run', 'large']), archiveName()];
  const contents = await readBundleDirectory(dir, limits, signal);
  const { sizeBytes } = await packContents({ dir, manifest, file, signal }, contents, compression);
  expect(sizeBytes).toBeLessThan(10_000);
  expect((await unpacked(file)).contents.files).toHaveLength(3);
});
