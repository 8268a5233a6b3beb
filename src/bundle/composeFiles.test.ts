import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readComposeFiles } from './composeFiles.ts';

let dir: string;
beforeEach(async () => void (dir = await mkdtemp(join(tmpdir(), 'deployd-compose-'))));
afterEach(() => rm(dir, { recursive: true }));

it('stops reading compose files when the signal aborts', async () => {
  const compose = ['a.yaml', 'b.yaml'];
  for (const name of compose) await writeFile(join(dir, name), 'services: {}\n');
  const stop = new AbortController();
  const result = readComposeFiles({ dir, manifest: { compose } }, stop.signal);
  setImmediate(() => stop.abort());
  await expect(result).rejects.toMatchObject({ ending: 'stopped' });
});
