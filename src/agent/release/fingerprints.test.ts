import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { envDigestOf, isEnvUnchanged } from './fingerprints.ts';
import { openReleases, type Releases } from './releases.ts';
import type { Settings } from '../config/configKeys.ts';

const sha = 'a'.repeat(64);
let dir: string;
let releases: Releases;
let deps: { releases: Releases; settings: Settings };
beforeEach(async () => {
  dir = tempDir();
  releases = await openReleases(dir, 'eu-1');
  deps = { releases, settings: { state_dir: dir, env: 'eu-1' } } as unknown as typeof deps;
  await mkdir(releases.stagingOf(sha), { recursive: true });
  await releases.adopt(
    sha,
    {
      schema: 1,
      sha,
      files: [],
      directories: [],
      reached: [],
      writable: [],
      override: '',
      repairs: [],
    },
    new AbortController().signal,
  );
  const env = 'A="one"\n';
  const record = {
    schema: 1,
    sha,
    version: '1',
    sequence: 1,
    production: false,
    services: [],
    images: [],
    compose: [],
  } as const;
  const written = { ...record, services: [], images: [], compose: [], env: await envDigestOf(deps, env) };
  await releases.writeRendered(sha, { env, override: '', granted: null, record: written });
});
const rewrite = (text: string) => writeFile(join(releases.pathOf(sha), '.env'), text);

describe('the .env of a release (spec §12.9)', () => {
  it('is unchanged as written', async () => {
    expect([await isEnvUnchanged(deps, sha), await releases.isComplete(sha)]).toEqual([true, true]);
  });

  it('is changed when only its content differs', async () => {
    await rewrite('A="two"\n');
    expect([await isEnvUnchanged(deps, sha), await releases.isComplete(sha)]).toEqual([false, true]);
  });

  it('makes the release incomplete when its size differs', async () => {
    await rewrite('A="three"\n');
    expect(await releases.isComplete(sha)).toBe(false);
  });

  it('counts as unchanged after the host lost its key', async () => {
    await rm(join(dir, 'eu-1', 'label.salt'));
    expect(await isEnvUnchanged(deps, sha)).toBe(true);
  });
});
