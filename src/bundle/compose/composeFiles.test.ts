import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { refusalsOf, serviceWith } from '../../../fixtures/suites/corpus/bundleRefusals.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { readComposeProject } from './composeFiles.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));

it('stops reading compose files when the signal aborts', async () => {
  const compose = ['a.yaml', 'b.yaml'];
  for (const name of compose) await writeFile(join(dir, name), 'services: {}\n');
  const stop = new AbortController();
  const result = readComposeProject({ dir, manifest: { compose } }, stop.signal);
  setImmediate(() => stop.abort());
  await expect(result).rejects.toMatchObject({ ending: 'stopped' });
});

describe('a text with variables of the manifest', () => {
  const variables = { FALSE: 'false', TRUE: 'true', OTHER: 'other', DIR: './conf', ENV: 'app' };
  const codesOf = async (line: string) => {
    const refusals = await refusalsOf({ compose: serviceWith(line), variables, secrets: ['SECRET'] });
    return refusals.map(({ code }) => code);
  };

  it.each(['privileged: ${FALSE}', 'depends_on: ["${OTHER}"]', 'volumes: ["${DIR}:/x:ro"]', 'env_file: ${ENV}.env'])(
    'is checked by their values: %s is allowed',
    async (line) => {
      expect(await codesOf(line)).toEqual([]);
    },
  );

  it.each([
    'privileged: ${TRUE}',
    'privileged: ${UNSET:-false}',
    'privileged: ${SECRET}',
    'volumes: ["${DIR}${SECRET}:/x"]',
  ])('is checked only by them: %s is refused', async (line) => {
    expect(await codesOf(line)).toEqual(['PRIVILEGED_REFUSED']);
  });
});
