import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openReleases, type Releases } from '../../adapters/files/releases.ts';
import { isEnvAsWritten, sealOf } from './envSeal.ts';
import type { Tools } from '../tools.ts';

const sha = 'a'.repeat(64);
let dir: string;
let releases: Releases;
let tools: Tools;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'deployd-seal-'));
  releases = await openReleases(dir, 'eu-1');
  tools = { releases, settings: { state_dir: dir, env: 'eu-1' } } as unknown as Tools;
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
  const written = { ...record, services: [], images: [], compose: [], env: await sealOf(tools, env) };
  await releases.complete(sha, { env, override: '', granted: null, record: written });
});
afterEach(() => rm(dir, { recursive: true }));
const rewrite = (text: string) => writeFile(join(releases.pathOf(sha), '.env'), text);

describe('the .env of a release (spec §12.9)', () => {
  it('is known again', async () => {
    expect([await isEnvAsWritten(tools, sha), await releases.isWhole(sha)]).toEqual([true, true]);
  });

  it('of the same size is told from it by its content', async () => {
    await rewrite('A="two"\n');
    expect([await isEnvAsWritten(tools, sha), await releases.isWhole(sha)]).toEqual([false, true]);
  });

  it('is told from one of another size by every tick', async () => {
    await rewrite('A="three"\n');
    expect(await releases.isWhole(sha)).toBe(false);
  });

  it('is not doubted because the host lost its key', async () => {
    await rm(join(dir, 'eu-1', 'label.salt'));
    expect(await isEnvAsWritten(tools, sha)).toBe(true);
  });
});
