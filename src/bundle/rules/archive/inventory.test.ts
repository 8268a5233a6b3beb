import type { Sha } from '../../../../machines/types.ts';
import {
  countRepairsBelow,
  isRequired,
  isWritable,
  parseInventory,
  pathsOf,
  reachedDigests,
  recordRepairs,
  type Inventory,
} from './inventory.ts';

const [sha, other] = ['a', 'b'].map((letter) => letter.repeat(64)) as [Sha, Sha];
const file = (path: string, sha256: string = sha) => ({ path, size: 0, sha256, executable: true });
const inventory: Inventory = {
  schema: 1,
  sha,
  files: [file('conf/web.conf'), file('compose.yaml', other)],
  directories: ['conf', 'data'],
  reached: ['conf'],
  writable: ['data'],
  override: other,
  repairs: [{ path: 'conf/web.conf', count: 2 }],
};

describe('the inventory of a release', () => {
  it('is parsed, with keys of a newer agent', () => {
    const newer = { ...inventory, added: true };
    expect(parseInventory(JSON.stringify(newer), sha)).toEqual(newer);
  });

  it.each<[string, object]>([
    ['of another release', { sha: other }],
    ['of another schema', { schema: 2 }],
    ['with a digest that is none', { override: 'x' }],
    ['with a file without a digest', { files: [{ ...file('a'), sha256: undefined }] }],
    ['with a file without a path', { files: [{ ...file('a'), path: undefined }] }],
    ['with a path that is a number', { files: [{ ...file('a'), path: 1 }] }],
    ['with a negative size', { files: [{ ...file('a'), size: -1 }] }],
    ['with a broken size', { files: [{ ...file('a'), size: 0.5 }] }],
    ['with a mode that is text', { files: [{ ...file('a'), executable: 'true' }] }],
    ['with files that are no list', { files: {} }],
    ['with directories that are no list', { directories: { length: 0 } }],
    ['with a path that a service reads, as a number', { reached: [1] }],
    ['with writable paths that are no list', { writable: {} }],
    ['with a directory that is a number', { directories: [1] }],
    ['with repairs that are no list', { repairs: {} }],
    ['with a repair without a count', { repairs: [{ path: 'a' }] }],
    ...(['files', 'directories', 'reached', 'writable', 'repairs'] as const).map((key): [string, object] => [
      `without ${key}`,
      { [key]: undefined },
    ]),
  ])('is not parsed %s', (_title, part) => {
    expect(parseInventory(JSON.stringify({ ...inventory, ...part }), sha)).toBeNull();
  });

  it.each(['', 'null', '[]', '{'])('is not parsed from %j', (text) => {
    expect(parseInventory(text, sha)).toBeNull();
  });

  it.each(['', '..', '../a', 'a/..', 'a/./b', 'a//b', '/a', '.env', '.env/a', '.deployd', '.deployd-override.yaml'])(
    'is not parsed with the path %j',
    (path) => {
      const damaged = [{ files: [file(path)] }, { directories: [path] }, { repairs: [{ path, count: 1 }] }];
      for (const part of damaged) expect(parseInventory(JSON.stringify({ ...inventory, ...part }), sha)).toBeNull();
    },
  );

  it.each(['..a', 'a/.env', '.env.example', 'a/.deployd', 'x.deployd'])('is parsed with the path %j', (path) => {
    expect(parseInventory(JSON.stringify({ ...inventory, directories: [path] }), sha)?.directories).toEqual([path]);
  });

  it('lists the paths of files and directories', () => {
    expect([...pathsOf(inventory)]).toEqual(['conf', 'data', 'conf/web.conf', 'compose.yaml']);
  });
});

it.each([
  ['data', true],
  ['data/a/b', true],
  ['data2', false],
  ['conf', false],
])('a container may write to %s: %j', (path, expected) => {
  expect(isWritable(path, inventory)).toBe(expected);
});

it.each([
  ['compose.yaml', true],
  ['conf/sub', true],
  ['conf/sub/a', true],
  ['conf', true],
  ['conf/sub2', false],
  ['con', false],
  ['other', false],
])('a release with compose.yaml that reads conf/sub requires %s: %j', (path, expected) => {
  expect(isRequired(path, { reached: ['x', 'conf/sub'] }, ['compose.yaml'])).toBe(expected);
});

it('counts the repairs of a path and of what lies below it', () => {
  const repairs = recordRepairs(inventory.repairs, ['conf/web.conf', 'conf', 'confetti']);
  expect(repairs).toEqual([
    { path: 'conf/web.conf', count: 3 },
    { path: 'conf', count: 1 },
    { path: 'confetti', count: 1 },
  ]);
  expect(['conf', 'conf/web.conf', 'web.conf'].map((path) => countRepairsBelow(path, repairs))).toEqual([4, 3, 0]);
});

it('finds the digests of files that a service reads, itself or their directory', () => {
  expect(reachedDigests(inventory, new Set(['conf']))).toEqual(new Map([['conf/web.conf', sha]]));
  expect(reachedDigests(inventory, new Set(['compose.yaml', 'web.conf']))).toEqual(new Map([['compose.yaml', other]]));
});
