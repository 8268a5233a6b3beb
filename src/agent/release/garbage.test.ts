import { createHash } from 'node:crypto';
import { mkdir, realpath, rm, symlink, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { plainOutcome } from '../../../machines/fault.ts';
import { cleanUp, collectGarbage, type GarbageDependencies, prune, pruneImages } from './garbage.ts';
import { openReleases, type Releases } from './releases.ts';

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
function depsWith(mount: string): GarbageDependencies {
  const holder = { id: '1', name: 'x', project: null, image: 'x', imageId: 'x', networks: [] };
  return {
    releases,
    containers: {
      resourceUsers: async () => [{ ...holder, mounts: [mount], volumes: [] }],
      volumes: async () => [],
      images: async () => [],
    },
    settings: { keep_releases: 1, policy: { deny: [] } },
    otherEnvs: () => [],
    state: { state: { applied_sha: current, attempt: null } },
    stop: new AbortController(),
    tick: { journal: { info: () => undefined, warn: fail } },
  } as unknown as GarbageDependencies;
}

const list = async () => (await releases.list()).sort();

/** The releases that remain of two when a container outside the project has this mount. */
async function remaining(mount: string): Promise<string[]> {
  await collectGarbage(depsWith(mount), { keep: 1, written: 'kept' });
  return list();
}

const hold = { until: '2100-01-01T00:00:00.000Z', reason: null, since: '2026-11-26T11:00:00.000Z', isDamaged: false };
it.each([
  ['a held host', hold],
  ['a host whose hold the tick could not read', undefined],
])('keeps every release of %s, also with --prune', async (_, held) => {
  await cleanUp(depsWith('/'), 'held', { desired: null, hold: held });
  await prune(depsWith('/'), { outcome: plainOutcome('held'), hold: held });
  expect(await list()).toEqual([current, old]);
  await cleanUp(depsWith('/'), 'converged', { desired: null, hold: null });
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

  it('is kept, with its `.env`, instead of a newer one that failed', async () => {
    const failed = 'c'.repeat(64);
    await mkdir(releases.pathOf(failed));
    await writeFile(join(releases.pathOf(old), '.env'), '');
    await utimes(releases.pathOf(old), 1, 1);
    await collectGarbage(depsWith('/elsewhere'), { keep: 2, written: 'kept' });
    expect(await list()).toEqual([current, old]);
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

describe('a release beyond keep_releases with files that others wrote', () => {
  const text = 'as it was bundled\n';
  const bundled = { path: 'conf/page', size: text.length, executable: false };
  const sha256 = createHash('sha256').update(text).digest('hex');
  const derived = { reached: [], writable: [], override: old, repairs: [] };
  const inventory = {
    schema: 1 as const,
    sha: old,
    files: [{ ...bundled, sha256 }],
    directories: ['conf'],
    ...derived,
  };
  const pathOf = (...below: string[]) => join(releases.pathOf(old), ...below);
  let lines: string[];

  beforeEach(async () => {
    lines = [];
    await mkdir(pathOf('conf'));
    await writeFile(pathOf('conf/page'), text);
    await writeFile(pathOf('.env'), 'A=1\n');
    await releases.writeInventory(old, inventory);
  });

  const collect = async (written: 'kept' | 'removed') => {
    const deps = depsWith('/elsewhere');
    const note = (line: string) => void lines.push(line);
    Object.assign(deps.tick.journal, { info: note, warn: note });
    await collectGarbage(deps, { keep: 1, written });
    return list();
  };

  it('is removed when it contains only files of its bundle', async () => {
    await rm(pathOf('conf/page'));
    await mkdir(pathOf('conf/mountpoint'));
    expect(await collect('kept')).toEqual([current]);
    expect(lines).toEqual([]);
  });

  it.each<[string, string, () => Promise<unknown>]>([
    ['further file', 'conf/data', () => writeFile(pathOf('conf/data'), 'x')],
    [
      'file in a further directory',
      'a/b/c',
      async () => {
        await mkdir(pathOf('a/b'), { recursive: true });
        await writeFile(pathOf('a/b/c'), 'x');
      },
    ],
    ['link', 'conf/link', () => symlink('/etc', pathOf('conf/link'))],
    ['changed file', 'conf/page', () => writeFile(pathOf('conf/page'), text.replace('was', 'is!'))],
    ['grown file', 'conf/page', () => writeFile(pathOf('conf/page'), `${text}more`)],
    [
      'link in the place of a file',
      'conf/page',
      async () => {
        await rm(pathOf('conf/page'));
        await symlink('/etc', pathOf('conf/page'));
      },
    ],
    ['file, without a list of its own', 'conf/page', () => rm(pathOf('.deployd.files.json'))],
  ])('stays without its secrets for a %s, and is removed with --prune, which names it', async (_, path, write) => {
    await write();
    expect(await collect('kept')).toEqual([current, old]);
    expect(lines).toEqual([
      `old releases stay with files that their bundles do not have: ${old} (${path}); copy what is needed, then: sudo deployd run --once --prune`,
    ]);
    expect(await releases.hasEnv(old)).toBe(false);
    expect(await collect('removed')).toEqual([current]);
    expect(lines[1]).toBe(`removed with its release ${old}: ${path}`);
  });

  it('names some files of many', async () => {
    for (let each = 0; each < 9; each++) await writeFile(pathOf(`conf/${each}`), 'x');
    await collect('kept');
    expect(lines[0]).toMatch(/\(conf\/\d, conf\/\d, conf\/\d and more\)/);
  });
});

describe('with other environments on the host (spec §22.5)', () => {
  const record = { schema: 1, sha: old, version: 'v1', sequence: 1, production: false, services: [], compose: [] };
  const engineImages = ['app:1', 'app:2', 'app:3'].map((reference, index) => {
    return { id: `sha256:${String(index).repeat(64)}`, references: [reference] };
  });
  const imagesNamed = (...names: string[]) => names.map((reference) => ({ reference, id: null }));
  let removed: string[];
  let warnings: string[];

  /** Removes `old`, which named all three images, while these other environments exist. */
  async function collectBeside(otherEnvs: GarbageDependencies['otherEnvs']): Promise<void> {
    [removed, warnings] = [[], []];
    await releases.writeRecord(old, { ...record, schema: 1, images: imagesNamed('app:1', 'app:2', 'app:3') });
    const deps = depsWith('/elsewhere');
    Object.assign(deps, { otherEnvs });
    Object.assign(deps.tick.journal, { warn: (line: string) => warnings.push(line) });
    const removeImage = (name: string) => Promise.resolve(removed.push(name));
    Object.assign(deps.containers, { images: async () => engineImages, removeImage });
    await collectGarbage(deps, { keep: 1, written: 'kept' });
  }

  it('keeps the images that a release of another environment names, by reference or by id', async () => {
    const other = { config_file: 'other', env: 'shop', state_dir: await realpath(tempDir()) };
    const ofOther = await openReleases(other.state_dir, other.env);
    await mkdir(ofOther.pathOf(old));
    const images = [
      { reference: 'app:2', id: null },
      { reference: 'moved:1', id: engineImages[0]?.id ?? null },
    ];
    await ofOther.writeRecord(old, { ...record, schema: 1, images });
    await collectBeside(() => [other, { config_file: 'new', env: 'new', state_dir: '/nowhere' }]);
    expect(removed).toEqual(['app:3']);
    expect([await list(), warnings]).toEqual([[current], []]);
  });

  it('keeps a dangling image that a release on disk ran, in this or another environment', async () => {
    const other = { config_file: 'other', env: 'shop', state_dir: await realpath(tempDir()) };
    const ofOther = await openReleases(other.state_dir, other.env);
    await mkdir(ofOther.pathOf(old));
    const [first, second, third] = engineImages.map(({ id }) => id);
    const ran = (id = '') => ({ ...record, schema: 1 as const, images: [{ reference: 'moved:1', id }] });
    await ofOther.writeRecord(old, ran(first));
    await releases.writeRecord(current, { ...ran(second), sha: current });
    removed = [];
    const deps = depsWith('/elsewhere');
    const removeImage = async (name: string) => void removed.push(name);
    const images = async () => engineImages.map(({ id }) => ({ id, references: [] }));
    Object.assign(deps, { otherEnvs: () => [other] });
    Object.assign(deps.containers, { images, removeImage });
    await pruneImages(deps);
    expect(removed).toEqual([third]);
  });

  it('removes nothing while the releases of another environment cannot be found', async () => {
    await collectBeside(() => [{ config_file: '/etc/deployd/config.yaml' }]);
    expect(removed).toEqual([]);
    expect(await list()).toEqual([current, old]);
    expect(warnings).toEqual([
      'old releases stay for now: images that its environment may need: /etc/deployd/config.yaml cannot be used',
    ]);
    await collectBeside(() => []);
    expect([removed, await list()]).toEqual([['app:1', 'app:2', 'app:3'], [current]]);
  });
});
