import { mkdir, readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { openMetricsFile } from './metrics.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

it('is empty before the first tick, then has the last written text, readable by everybody', async () => {
  const path = join(dir, 'deployd.prom');
  const file = openMetricsFile(path);
  expect(await file.read()).toBe('');
  await file.write('a 1\n');
  await file.write('a 2\n');
  expect(await file.read()).toBe('a 2\n');
  expect((await stat(path)).mode & 0o777).toBe(0o644);
});

it('removes temporary files of a killed tick, and keeps files of others', async () => {
  await writeFile(join(dir, '.deployd.tmp-4194304-1'), 'half');
  await writeFile(join(dir, 'other.prom'), 'b 1\n');
  await openMetricsFile(join(dir, 'deployd.prom')).write('a 1\n');
  expect((await readdir(dir)).sort()).toEqual(['deployd.prom', 'other.prom']);
});

it('names a directory that is missing or not writable', async () => {
  const missing = join(dir, 'none', 'a.prom');
  await expect(openMetricsFile(missing).write('a 1\n')).rejects.toMatchObject({
    code: 'DISK_WRITE_FAILED',
    message: `failed: cannot write ${missing}: no such file or directory`,
  });
  await mkdir(join(dir, 'a.prom'));
  await expect(openMetricsFile(join(dir, 'a.prom')).write('a 1\n')).rejects.toMatchObject({
    code: 'DISK_WRITE_FAILED',
  });
});
