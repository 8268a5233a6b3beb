import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../fixtures/tempDir.ts';
import { readComposeFiles } from './composeFiles.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

it('stops reading compose files when the signal aborts', async () => {
  const compose = ['a.yaml', 'b.yaml'];
  for (const name of compose) await writeFile(join(dir, name), 'services: {}\n');
  const stop = new AbortController();
  const result = readComposeFiles({ dir, manifest: { compose } }, stop.signal);
  setImmediate(() => stop.abort());
  await expect(result).rejects.toMatchObject({ ending: 'stopped' });
});
