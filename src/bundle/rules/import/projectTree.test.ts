import { directoryOf, joinPath, normalizeRelative } from './projectTree.ts';

it.each([
  ['a/b', 'a/b'],
  ['./a//b/', 'a/b'],
  ['a/./b/..', 'a'],
  ['a/..', '.'],
  ['', '.'],
  ['..', '..'],
  ['a/../../b', '../b'],
  ['../../a', '../../a'],
  ['../a/..', '..'],
])('%j is the path %s', (path, expected) => {
  expect(normalizeRelative(path)).toBe(expected);
});

it('a path is relative to its base, and lies in a directory', () => {
  expect([joinPath('sub', './a'), joinPath('sub', '../../a'), joinPath('.', 'a')]).toEqual(['sub/a', '../a', 'a']);
  expect([directoryOf('a/b/c'), directoryOf('a'), directoryOf('../a')]).toEqual(['a/b', '.', '..']);
});
