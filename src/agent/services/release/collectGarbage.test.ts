import { mkdir, realpath, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tempDir } from '../../../../fixtures/tempDir.ts';
import { plainOutcome } from '../../../../machines/outcomes.ts';
import { openReleases, type Releases } from '../../adapters/release/releases.ts';
import type { Journal } from '../../journal/journal.ts';
import { cleanUp, collectGarbage } from './collectGarbage.ts';
import { prune } from './prune.ts';
import type { Dependencies } from '../dependencies.ts';
import { startTick } from '../tickScope.ts';

const [current, old] = ['a'.repeat(64), 'b'.repeat(64)];
let stateDir: string;
let releases: Releases;
beforeEach(async () => {
  stateDir = await realpath(tempDir());
  releases = await openReleases(stateDir, 'eu-1');
  for (const sha of [current, old]) await mkdir(releases.pathOf(sha));
});

function fail(line: string): never {
  throw new Error(line);
}

/** A host with a container outside the project that has this mount. */
function depsWith(mount: string, { hold }: Pick<Dependencies['tick'], 'hold'> = { hold: null }): Dependencies {
  const holder = { id: '1', name: 'x', project: null, image: 'x', imageId: 'x', networks: [] };
  return {
    releases,
    containers: {
      resourceUsers: async () => [{ ...holder, mounts: [mount], volumes: [] }],
      volumes: async () => [],
      images: async () => [],
    },
    settings: { keep_releases: 1, policy: { deny: [] } },
    state: { state: { applied_sha: current, attempt: null } },
    stop: new AbortController(),
    tick: { hold, journal: { info: () => undefined, warn: fail } },
  } as unknown as Dependencies;
}

const list = async () => (await releases.list()).sort();

/** The releases that remain of two when a container outside the project has this mount. */
async function remaining(mount: string): Promise<string[]> {
  await collectGarbage(depsWith(mount), 1);
  return list();
}

const hold = { until: '2100-01-01T00:00:00.000Z', reason: null, since: '2026-11-26T11:00:00.000Z', isDamaged: false };
it.each([
  ['a held host', { hold }],
  ['a host whose hold the tick could not read', startTick({ forTick: () => null } as unknown as Journal)],
])('keeps every release of %s, also with --prune', async (_, held) => {
  await cleanUp(depsWith('/', held), 'held', null);
  await prune(depsWith('/', held), { outcome: plainOutcome('held') });
  expect(await list()).toEqual([current, old]);
  await cleanUp(depsWith('/'), 'converged', null);
  expect(await list()).toEqual([current]);
});

describe('a release beyond keep_releases (spec §12.7)', () => {
  it.each([
    ['one of its files', () => join(releases.pathOf(old), 'manifest.json')],
    ['the directory of all releases', () => dirname(releases.pathOf(old))],
    ['the directory of the env', () => join(stateDir, 'eu-1')],
    ['`current`', () => join(stateDir, 'eu-1', 'current')],
  ])('is kept while a container mounts %s', async (_, mountOf) => {
    expect(await remaining(mountOf())).toEqual([current, old]);
  });

  it('is kept while a container mounts the directory it was moved to', async () => {
    const moved = join(stateDir, 'moved');
    await mkdir(join(moved, old), { recursive: true });
    await mkdir(join(moved, current));
    await rm(join(stateDir, 'eu-1', 'releases'), { recursive: true });
    await symlink(moved, join(stateDir, 'eu-1', 'releases'));
    expect(await remaining(join(moved, old))).toEqual([current, old]);
    expect(await remaining(moved)).toEqual([current, old]);
  });

  it.each([
    ['/', () => '/'],
    ['the state directory', () => stateDir],
    ['the parent of the state directory', () => dirname(stateDir)],
    ['another env', () => join(stateDir, 'eu-12')],
  ])('is removed although a container mounts %s', async (_, mountOf) => {
    expect(await remaining(mountOf())).toEqual([current]);
  });
});
