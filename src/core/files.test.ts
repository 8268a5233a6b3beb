import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { openRegularFile, readRegularFile } from './files.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

const codeOf = async (read: () => unknown) =>
  Promise.try(read).then(
    () => 'read',
    (error: unknown) => (error as NodeJS.ErrnoException).code,
  );

it('reads a regular file, and a kernel file below /proc', async () => {
  await writeFile(join(dir, 'a'), 'text');
  expect(readRegularFile(join(dir, 'a')).toString()).toBe('text');
  expect(readRegularFile('/proc/self/stat').length).toBeGreaterThan(0);
  await using opened = await openRegularFile(join(dir, 'a'), { follow: false });
  expect(await opened.readFile('utf8')).toBe('text');
});

it('rejects a file that is larger than the limit', async () => {
  await writeFile(join(dir, 'a'), 'text');
  expect(await codeOf(() => readRegularFile(join(dir, 'a'), 3))).toBe('EFBIG');
});

it('follows a symbolic link only with `follow`', async () => {
  await writeFile(join(dir, 'a'), 'text');
  await symlink('a', join(dir, 'link'));
  expect(await codeOf(() => openRegularFile(join(dir, 'link'), { follow: false }))).toBe('ELOOP');
  await using opened = await openRegularFile(join(dir, 'link'), { follow: true });
  expect(await opened.readFile('utf8')).toBe('text');
});

it.each([
  ['a FIFO', async (path: string) => execFileSync('mkfifo', [path]), 'ENOTREG'],
  ['a device', (path: string) => symlink('/dev/zero', path), 'ENOTREG'],
  ['a directory', (path: string) => mkdir(path), 'EISDIR'],
])('%s is not a regular file', async (_kind, make, code) => {
  const path = join(dir, 'a');
  await make(path);
  expect(await codeOf(() => readRegularFile(path))).toBe(code);
  expect(await codeOf(() => openRegularFile(path, { follow: true }))).toBe(code);
});

it('no other module reads files', () => {
  const sources = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'));
  const reading = sources.filter((file) =>
    /\b(readFile|readFileSync|createReadStream)\b/.test(readFileSync(file, 'utf8')),
  );
  // the others stream from a file that they opened with openRegularFile
  expect(reading.toSorted()).toEqual([
    'src/bundle/archive/archive.ts',
    'src/bundle/archive/pack.ts',
    'src/core/files.ts',
    'src/deployctl/core/files.ts',
    'src/tenancy/backends/kit.ts',
    'src/tenancy/peers/bundleBucket.ts',
    'src/tenancy/peers/bundleStorage.ts',
  ]);
});
