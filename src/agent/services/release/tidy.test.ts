import { mkdir, mkdtemp, realpath, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { openReleases, type Releases } from '../../adapters/files/releases.ts';
import { tidy } from './tidy.ts';
import type { Tools } from '../tools.ts';

const [current, old] = ['a'.repeat(64), 'b'.repeat(64)];
let stateDir: string;
let releases: Releases;
beforeEach(async () => {
  stateDir = await realpath(await mkdtemp(join(tmpdir(), 'deployd-tidy-')));
  releases = await openReleases(stateDir, 'eu-1');
  for (const sha of [current, old]) await mkdir(releases.pathOf(sha));
});
afterEach(() => rm(stateDir, { recursive: true }));

function fail(line: string): never {
  throw new Error(line);
}

/** What stays of two releases, where a container outside the project mounts that. */
async function staying(mount: string): Promise<string[]> {
  const holder = { id: '1', name: 'x', project: null, image: 'x', imageId: 'x', networks: [] };
  await tidy(
    {
      releases,
      containers: {
        holders: async () => [{ ...holder, mounts: [mount], volumes: [] }],
        volumes: async () => [],
        images: async () => [],
      },
      state: { state: { applied_sha: current } },
      stop: new AbortController(),
      tick: { journal: { info: () => undefined, warn: fail } },
    } as unknown as Tools,
    1,
  );
  return (await releases.list()).sort();
}

describe('a release beyond keep_releases (spec §12.7)', () => {
  it.each([
    ['a file of it', () => join(releases.pathOf(old), 'manifest.json')],
    ['the directory of the releases', () => dirname(releases.pathOf(old))],
    ['the directory of the env', () => join(stateDir, 'eu-1')],
    ['`current`', () => join(stateDir, 'eu-1', 'current')],
  ])('stays while a container mounts %s', async (_, mountOf) => {
    expect(await staying(mountOf())).toEqual([current, old]);
  });

  it('stays while a container mounts it where its directory was moved to', async () => {
    const moved = join(stateDir, 'moved');
    await mkdir(join(moved, old), { recursive: true });
    await mkdir(join(moved, current));
    await rm(join(stateDir, 'eu-1', 'releases'), { recursive: true });
    await symlink(moved, join(stateDir, 'eu-1', 'releases'));
    expect(await staying(join(moved, old))).toEqual([current, old]);
    expect(await staying(moved)).toEqual([current, old]);
  });

  it.each([
    ['/', () => '/'],
    ['the state directory', () => stateDir],
    ['what the state directory is in', () => dirname(stateDir)],
    ['another env', () => join(stateDir, 'eu-12')],
  ])('goes though a container mounts %s', async (_, mountOf) => {
    expect(await staying(mountOf())).toEqual([current]);
  });
});
