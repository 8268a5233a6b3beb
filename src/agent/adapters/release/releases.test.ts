import { mkdir, mkdtemp, readdir, readFile, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Inventory } from '../../../bundle/archive/inventory.rules.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { openReleases, type Releases } from './releases.ts';

const [a, b, c] = ['a'.repeat(64), 'b'.repeat(64), 'c'.repeat(64)] as const;
const never = new AbortController().signal;
let dir: string;
let home: string;
let releases: Releases;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'releases-'));
  home = join(dir, 'eu-1');
  releases = await openReleases(dir, 'eu-1');
});
afterEach(() => rm(dir, { recursive: true }));

it('makes its directories accessible to their owner only', async () => {
  for (const path of [home, join(home, 'releases'), join(home, 'bundles'), join(home, 'staging')]) {
    expect((await stat(path)).mode & 0o777).toBe(0o700);
  }
});

it('can be opened again', async () => {
  await release(a);
  expect(await (await openReleases(dir, 'eu-1')).list()).toEqual([a]);
});

it.each(['', '..', '../../etc', `${a}/..`, 'A'.repeat(64), `${a}\n`])('builds no path from %j', (sha) => {
  expect(() => releases.pathOf(sha)).toThrow(TypeError);
  expect(() => releases.bundleOf(sha)).toThrow(TypeError);
  expect(() => releases.stagingOf(sha)).toThrow(TypeError);
});

describe('adopting an unpacked bundle', () => {
  it('makes it a release', async () => {
    await release(a, 'new');
    expect(await readFile(join(releases.pathOf(a), 'compose.yaml'), 'utf8')).toBe('new');
    expect([await releases.exists(a), await releases.exists(b)]).toEqual([true, false]);
    expect(await readdir(join(home, 'staging'))).toEqual([]);
  });

  it('writes its inventory', async () => {
    await release(a);
    expect(await releases.readInventory(a)).toEqual(inventoryOf(a));
    expect((await stat(join(releases.pathOf(a), '.deployd.files.json'))).mode & 0o777).toBe(0o600);
    await writeFile(join(releases.pathOf(a), '.deployd.files.json'), JSON.stringify(inventoryOf(b)));
    expect([await releases.readInventory(a), await releases.readInventory(b)]).toEqual([null, null]);
  });
});

describe('the list', () => {
  it('by age starts with the most recently rendered release, even after secrets were stripped', async () => {
    for (const [sha, second] of [
      [b, 10],
      [c, 30],
      [a, 20],
    ] as const) {
      await release(sha);
      await completeRelease(sha);
      await utimes(join(releases.pathOf(sha), '.deployd.json'), second, second);
    }
    await releases.stripEnv(b);
    expect(await releases.listByAge()).toEqual([c, a, b]);
    expect((await releases.list()).toSorted()).toEqual([a, b, c]);
  });

  it('skips anything that is not a release', async () => {
    await mkdir(join(home, 'releases', 'lost+found'));
    await release(a);
    expect(await releases.list()).toEqual([a]);
  });
});

describe('secrets of a release', () => {
  it('are readable by their owner only', async () => {
    await release(a);
    await completeRelease(a);
    expect(await releases.readEnv(a)).toBe('A=1\n');
    expect((await stat(join(releases.pathOf(a), '.env'))).mode & 0o777).toBe(0o600);
  });

  it('can be stripped, and may be absent', async () => {
    await release(a);
    await completeRelease(a);
    await releases.stripEnv(a);
    await releases.stripEnv(a);
    expect([await releases.readEnv(a), await releases.readEnv(b)]).toEqual([null, null]);
  });
});

describe('the backup of a release', () => {
  beforeEach(async () => {
    await release(a);
    await completeRelease(a);
    await releases.saveBackup(a);
    await releases.writeRendered(a, {
      env: 'A=2\n',
      override: '{}\n',
      granted: null,
      record: { ...recordOf(a), version: '2' },
    });
  });
  const bundled = ['.deployd.files.json', 'compose.yaml'];
  const own = async () => (await readdir(releases.pathOf(a))).filter((name) => !bundled.includes(name)).toSorted();
  const rendered = ['.deployd.json', '.deployd.override.yaml', '.env'];

  it('restores env and record, and is removed then', async () => {
    await releases.restoreBackup(a);
    await releases.restoreBackup(a);
    expect([await releases.readEnv(a), await releases.readRecord(a)]).toEqual(['A=1\n', recordOf(a)]);
    expect(await own()).toEqual(rendered);
  });

  it('contains the files from before the first attempt, and is readable by its owner only', async () => {
    await releases.saveBackup(a);
    expect((await stat(join(releases.pathOf(a), '.deployd.last-good.json'))).mode & 0o777).toBe(0o600);
    await releases.restoreBackup(a);
    expect(await releases.readEnv(a)).toBe('A=1\n');
  });

  it.each<[string, () => Promise<void>]>([
    ['dropped', () => releases.dropBackup(a)],
    ['stripped', () => releases.stripEnv(a)],
  ])('is not restored once it is %s', async (_how, end) => {
    await end();
    await releases.restoreBackup(a);
    expect(await own()).not.toContain('.deployd.last-good.json');
    expect(await releases.readEnv(a)).not.toBe('A=1\n');
  });

  it('changes nothing when it is damaged', async () => {
    await writeFile(join(releases.pathOf(a), '.deployd.last-good.json'), '{');
    await releases.restoreBackup(a);
    expect(await releases.readEnv(a)).toBe('A=2\n');
    expect(await own()).toEqual(rendered);
  });

  it('is not made of an incomplete release', async () => {
    await releases.stripEnv(a);
    await releases.saveBackup(a);
    expect(await own()).toEqual(['.deployd.json', '.deployd.override.yaml']);
  });
});

describe('the record of a release', () => {
  it('is read back', async () => {
    await release(a);
    await releases.writeRecord(a, recordOf(a));
    expect(await releases.readRecord(a)).toEqual(recordOf(a));
    expect((await stat(join(releases.pathOf(a), '.deployd.json'))).mode & 0o777).toBe(0o600);
  });

  it('is null when it is missing, damaged or of another release', async () => {
    await Promise.all([release(a), release(b)]);
    await releases.writeRecord(a, recordOf(b));
    await writeFile(join(releases.pathOf(b), '.deployd.json'), '{');
    expect([await releases.readRecord(a), await releases.readRecord(b), await releases.readRecord(c)]).toEqual([
      null,
      null,
      null,
    ]);
  });
});

it('removes a release with all its content', async () => {
  await release(a);
  await completeRelease(a);
  await releases.remove(a, never);
  await releases.remove(a, never);
  expect([await releases.list(), await readdir(join(home, 'staging'))]).toEqual([[], []]);
});

it('removes leftovers of interrupted ticks, and keeps bundles that are wanted or may be needed to repair a release', async () => {
  await release(a);
  await mkdir(join(releases.stagingOf(b), 'sub'), { recursive: true });
  for (const path of [
    releases.bundleOf(a),
    releases.partialFileOf(a),
    ...[b, c].flatMap((sha) => [releases.bundleOf(sha), releases.partialFileOf(sha)]),
  ])
    await writeFile(path, '');
  await writeFile(join(dir, '.deployd.tmp-999999999-1'), 's.abc');
  await writeFile(join(releases.pathOf(a), '.deployd.tmp-999999999-1'), 'A=1');
  await mkdir(join(releases.pathOf(a), '.theirs.tmp-999999999-1'));

  expect(await releases.removeLeftovers(b, never)).toEqual([]);
  expect((await readdir(join(home, 'bundles'))).toSorted()).toEqual([a, b, `${b}.part`]);
  expect(await readdir(join(home, 'staging'))).toEqual([]);
  expect(await readdir(dir)).toEqual(['eu-1']);
  expect((await readdir(releases.pathOf(a))).toSorted()).toEqual([
    '.deployd.files.json',
    '.theirs.tmp-999999999-1',
    'compose.yaml',
  ]);
  await releases.removeLeftovers(null, never);
  expect(await readdir(join(home, 'bundles'))).toEqual([a]);
});

async function release(sha: string, content = ''): Promise<void> {
  await mkdir(releases.stagingOf(sha));
  await writeFile(join(releases.stagingOf(sha), 'compose.yaml'), content);
  await releases.adopt(sha, inventoryOf(sha), never);
}

function inventoryOf(sha: string): Inventory {
  const nothing = { files: [], directories: [], reached: [], writable: [], repairs: [] };
  return { schema: 1, sha, ...nothing, override: sha };
}

async function completeRelease(sha: string): Promise<void> {
  await releases.writeRendered(sha, { env: 'A=1\n', override: '{}\n', granted: null, record: recordOf(sha) });
}

function recordOf(sha: string): ReleaseRecord {
  const services = [{ name: 'web', replicas: 1 }];
  return {
    schema: 1,
    sha,
    version: '1',
    sequence: 1,
    production: false,
    services,
    images: [],
    compose: ['compose.yaml'],
  };
}
