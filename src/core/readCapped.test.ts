import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { readCapped } from './files.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

it('reads a text, truncated to the maximum', async () => {
  await writeFile(join(dir, 'a'), 'grün');
  expect(await readCapped(join(dir, 'a'), 100)).toBe('grün');
  await truncate(join(dir, 'a'), 2 ** 40);
  expect(await readCapped(join(dir, 'a'), 100)).toHaveLength(99);
});

it('reads a text without its byte order mark', async () => {
  await writeFile(join(dir, 'a'), '\ufeff\ufeffA=1');
  expect(await readCapped(join(dir, 'a'), 100)).toBe('\ufeffA=1');
});

it.each(['absent', 'sub', 'a/below', 'x'.repeat(300), 'a\0b'])('returns null for %j', async (name) => {
  await writeFile(join(dir, 'a'), '');
  await mkdir(join(dir, 'sub'));
  expect(await readCapped(join(dir, name), 100)).toBeNull();
});

it('throws any other error of the disk', async () => {
  await expect(readCapped('/proc/self/mem', 100)).rejects.toMatchObject({
    message: 'failed: cannot read /proc/self/mem: the disk reports an input/output error',
  });
});
