import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { Trace } from '../journal/trace.rules.ts';
import { openTraces } from './trace.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

function traceOf(number: number, more: Partial<Trace> = {}): Trace {
  return {
    ...{ schema: 1, version: '0', env: 'eu-1', intent: 'tick', started_at: '2026-01-01T00:00:00Z', ms: 1, exit: 0 },
    ...{ tick: `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`, ending: 'converged' },
    ...{ codes: [], steps: [], decisions: [], ...more },
  };
}

describe('the traces of a state directory', () => {
  it('are empty before the first tick', async () => {
    expect(await openTraces(dir).list()).toEqual([]);
  });

  it('are readable by their owner only, and read back', async () => {
    const traces = openTraces(dir);
    expect(await traces.save(traceOf(1, { ending: 'refused' }))).toBeNull();
    const [file] = await traces.list();
    expect(await traces.read(file!)).toEqual(traceOf(1, { ending: 'refused' }));
    const [name = ''] = await readdir(join(dir, 'traces'));
    const modes = await Promise.all([join(dir, 'traces'), join(dir, 'traces', name)].map((path) => stat(path)));
    expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600]);
  });

  it('are the newest fifty, plus the newest fifty that were not quiet', async () => {
    const traces = openTraces(dir);
    for (let n = 1; n <= 60; n++) await traces.save(traceOf(n, { ending: 'refused' }));
    for (let n = 61; n <= 160; n++) await traces.save(traceOf(n));
    const files = await traces.list();
    expect(files.filter(({ quiet }) => quiet).map(({ number }) => number)).toEqual(range(160, 111));
    expect(files.filter(({ quiet }) => !quiet).map(({ number }) => number)).toEqual(range(60, 11));
  });

  it('lose the temporary file of a killed tick, and skip a file that a power cut emptied', async () => {
    const traces = openTraces(dir);
    await traces.save(traceOf(1));
    const [file] = await traces.list();
    await writeFile(join(dir, 'traces', '.deployd.tmp-4194304-1'), 'half');
    expect(await traces.save(traceOf(2))).toEqual(file);
    expect(await readdir(join(dir, 'traces'))).toHaveLength(2);
    await writeFile(join(dir, 'traces', `000001-${file!.tick}.quiet.json`), '');
    expect(await traces.read(file!)).toBeNull();
  });

  it('report a failing disk as DISK_WRITE_FAILED', async () => {
    await writeFile(join(dir, 'traces'), 'in the way');
    await expect(openTraces(dir).save(traceOf(1))).rejects.toMatchObject({ name: 'Fault', code: 'DISK_WRITE_FAILED' });
  });
});

function range(from: number, to: number): number[] {
  return Array.from({ length: from - to + 1 }, (_, index) => from - index);
}
