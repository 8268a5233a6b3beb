import { bringDirectory, bringFile, bundlePathOf, isKeyFile } from './bringFiles.ts';
import { memoryTree } from '../../../../fixtures/import/memoryTree.ts';
import type { ImportWork } from './importWork.ts';

const workOf = (...own: string[]) =>
  ({ paths: new Map(), copies: new Map(), documents: own.map((path) => ({ path })) }) as unknown as ImportWork;

it.each([
  ['a/b', 'a/b'],
  ['.', 'project'],
  ['../a', 'parent/a'],
  ['../../a/b', 'parent/a/b'],
  ['a/../b', 'a/../b'],
  ['manifest.json', 'manifest.json-2'],
])('%s lies at %s in the bundle', (path, expected) => {
  expect(bundlePathOf(path, workOf())).toBe(expected);
});

it('two paths lie at two places, and one at the same', () => {
  const work = workOf();
  expect(['../a', 'parent/a', '../../a', '../a'].map((path) => bringFile(path, work))).toEqual([
    ...['parent/a', 'parent/a-2', 'parent/a-3', 'parent/a'],
  ]);
  expect([...work.copies]).toEqual([
    ['parent/a', '../a'],
    ['parent/a-2', 'parent/a'],
    ['parent/a-3', '../../a'],
  ]);
});

it('a directory comes along with these files', () => {
  const work = workOf('compose.yaml', 'd/x');
  const files = ['compose.yaml', 'x', 'y/z'].map((path) => ({ path, kind: 'file' as const, size: 1 }));
  expect([bringDirectory('.', files, work), bringDirectory('d', files, work)]).toEqual(['project', 'd']);
  expect(Object.fromEntries(work.copies)).toEqual({
    ...{ 'project/compose.yaml': 'compose.yaml', 'project/x': 'x', 'project/y/z': 'y/z' },
    ...{ 'd/compose.yaml': 'd/compose.yaml', 'd/x': 'd/x', 'd/y/z': 'd/y/z' },
  });
});

it.each([
  ['.env', true],
  ['a/.env', true],
  ['a.env', false],
  ['.env/a', false],
  ['key', true],
  ['none', false],
])('%s holds a secret: %j', (path, expected) => {
  expect(isKeyFile(path, { tree: memoryTree({ key: '-----BEGIN PRIVATE KEY-----' }) })).toBe(expected);
});
