import { execFileSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openRegular, readRegular } from './regularFile.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd-regular-'))));
afterEach(() => rm(dir, { recursive: true }));

const codeOf = async (read: () => unknown) =>
  Promise.try(read).then(
    () => 'read',
    (error: unknown) => (error as NodeJS.ErrnoException).code,
  );

it('reads a file, one of the kernel too', async () => {
  await writeFile(join(dir, 'a'), 'text');
  expect(readRegular(join(dir, 'a')).toString()).toBe('text');
  expect(readRegular('/proc/self/stat').length).toBeGreaterThan(0);
  await using opened = await openRegular(join(dir, 'a'), { follow: false });
  expect(await opened.readFile('utf8')).toBe('text');
});

it('takes no more than is asked for', async () => {
  await writeFile(join(dir, 'a'), 'text');
  expect(await codeOf(() => readRegular(join(dir, 'a'), 3))).toBe('EFBIG');
});

it('follows a link on demand', async () => {
  await writeFile(join(dir, 'a'), 'text');
  await symlink('a', join(dir, 'link'));
  expect(await codeOf(() => openRegular(join(dir, 'link'), { follow: false }))).toBe('ELOOP');
  await using opened = await openRegular(join(dir, 'link'), { follow: true });
  expect(await opened.readFile('utf8')).toBe('text');
});

it.each([
  ['a FIFO', async (path: string) => execFileSync('mkfifo', [path]), 'ENOTREG'],
  ['a device', (path: string) => symlink('/dev/zero', path), 'ENOTREG'],
  ['a directory', (path: string) => mkdir(path), 'EISDIR'],
])('%s is no file', async (_kind, make, code) => {
  const path = join(dir, 'a');
  await make(path);
  expect(await codeOf(() => readRegular(path))).toBe(code);
  expect(await codeOf(() => openRegular(path, { follow: true }))).toBe(code);
});

it('whatever reads a file does so by these two', () => {
  const sources = globSync('src/**/*.ts').filter((file) => !file.endsWith('.test.ts'));
  const reading = sources.filter((file) =>
    /\b(readFile|readFileSync|createReadStream)\b/.test(readFileSync(file, 'utf8')),
  );
  // archive.ts streams from what it opened by them
  expect(reading.toSorted()).toEqual(['src/agent/adapters/files/archive.ts', 'src/platform/regularFile.ts']);
});
