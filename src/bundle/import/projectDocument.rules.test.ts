import { parse } from 'yaml';
import { importedBundle, importFiles } from '../../../fixtures/world/import/importing.ts';
import { parseProjectFile, renderProjectDocument, repairAnchors } from './projectDocument.rules.ts';
import { directoryOf, joinPath, normalizeRelative } from './importWork.rules.ts';

it.each([
  ['a byte order mark', '\ufeffservices: {a: {image: x}}\n', 'services: { a: { image: x } }'],
  ['tags without a meaning', 'services: !!map {a: !foo {image: !!str 5}}\n', "image: '5'"],
  ['a tagged merge', 'x: &x {image: x}\nservices: {a: {!!merge <<: *x}}\n', '<<: *x'],
  ['a directive', '%YAML 1.2\n---\nservices: {a: {image: x}}\n', 'services:'],
  ['keys without a value between braces', 'services: {a: {image: x}}\nvolumes: {b: , c: ~}\n', '{b: null, c: ~}'],
  ['an anchor with two meanings', 'x: [&a 1, &a 2]\nservices: {a: {image: *a}}\n', '*a-2'],
])('reads %s as compose does', (_, text, words) => {
  const { composeFiles } = importedBundle({ 'compose.yaml': text });
  expect(
    [...composeFiles.values()]
      .join('')
      .replaceAll('{a', '{ a')
      .replaceAll('{image', '{ image')
      .replaceAll('x}}', 'x } }'),
  ).toContain(words);
});

it.each([
  ['services: {a: {image: x}\n', 'compose.yaml:2'],
  ['services:\n  a: {image: x}\n  a: {image: y}\n', 'the key a a second time (compose.yaml:3)'],
  ['just text\n', 'a compose file must be a mapping (compose.yaml:1)'],
  ['services: {a: *b}\n', 'the alias *b points nowhere or into itself (compose.yaml:1)'],
  ['? [a]\n: b\n', 'a key that is not text (compose.yaml:1)'],
  ['volumes: {a: {}}\n', 'no compose file has a service'],
  [`services: ${'['.repeat(50)}${']'.repeat(50)}\n`, 'nested deeper than 40 levels'],
  [
    `a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n${[1, 2, 3, 4, 5].map((n) => `a${n}: &a${n} [${`*a${n - 1},`.repeat(10)}]\n`).join('')}`,
    'more than 50000 values',
  ],
  ['services: {a: {image: "hunter2" "hunter2"}}\n', 'compose.yaml:1'],
])('%j is not a compose file', (text, problem) => {
  const found = importFiles({ 'compose.yaml': text });
  expect(found).toEqual({ problems: expect.arrayContaining([expect.stringContaining(problem)]) as string[] });
  expect(JSON.stringify(found)).not.toContain('hunter2');
});

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

it('a path is relative to its base, and is in a directory', () => {
  expect([joinPath('sub', './a'), joinPath('sub', '../../a'), joinPath('.', 'a')]).toEqual(['sub/a', '../a', 'a']);
  expect([directoryOf('a/b/c'), directoryOf('a'), directoryOf('../a')]).toEqual(['a/b', '.', '..']);
});

const read = (text: string) => parseProjectFile('a.yaml', text);
const rendered = (text: string) => {
  const found = read(text);
  if ('problems' in found) throw new Error(found.problems.join('\n'));
  return found.documents.map((document) => {
    repairAnchors(document);
    return renderProjectDocument(document);
  });
};

it.each<[string, string[]]>([
  ['a: 1\n---\nb: 2\n', ['a: 1\n', 'b: 2\n']],
  ['---\na: 1\n---\n---\n# only words\n', ['a: 1\n']],
  ['a: !!int "5"\n', ['a: "5"\n']],
  ['a: !x 5\n', ['a: 5\n']],
  ['a: !!timestamp 2001-01-01\n', ['a: 2001-01-01\n']],
  ['a: !!binary aGk=\n', ['a: aGk=\n']],
  ['a: x\ufeffy\n', ['a: x\ufeffy\n']],
  ['{a, b: 1}\n', ['{a: null, b: 1}\n']],
  ['a: !!str 5\n', ["a: '5'\n"]],
  ['a: !!str "5"\n', ['a: "5"\n']],
  ['a: !x [1]\n', ['a: [1]\n']],
  ['a: !x {b: 1}\n', ['a: {b: 1}\n']],
  ['a: !reset {b: !override [1]}\n', ['a: !reset {b: !override [1]}\n']],
  ['a:\n', ['a: \n']],
  ['a: \'x\'\nb: "y"\n', ['a: \'x\'\nb: "y"\n']],
  [`a: ${'x '.repeat(60)}x\n`, [`a: ${'x '.repeat(60)}x\n`]],
  ['a: {b: 1}\n', ['a: {b: 1}\n']],
  ['# top\na: 1 # side\n', ['# top\na: 1 # side\n']],
])('%j is read and written as %j', (text, expected) => {
  expect(rendered(text).map((one) => one.replace('a:\n', 'a: \n'))).toEqual(expected);
});

it('anchors of the same name are distinguished', () => {
  const text = 'a: &x 1\nb: *x\nc: &x 2\nd: *x\ne: &x-2 3\nf: *x-2\ni: &x 5\ng: &x.y 4\nh: *x.y\n';
  const [found = ''] = rendered(text);
  expect(parse(found)).toEqual({ a: 1, b: 1, c: 2, d: 2, e: 3, f: 3, i: 5, g: 4, h: 4 });
  expect([...found.matchAll(/&(\S+)/g)].map(([, name]) => name)).toEqual(['x', 'x-2', 'x-2-2', 'x-3', 'x-y']);
});

it('an alias whose anchor is gone is written out', () => {
  const found = read('a: &x [1]\nb: *x\nc: *x\n');
  if ('problems' in found) throw new Error('no document');
  const [document] = found.documents;
  document?.document.delete('a');
  repairAnchors(document!);
  expect(parse(renderProjectDocument(document!))).toEqual({ b: [1], c: [1] });
});

it.each<[string, string[]]>([
  ['a: [\n', ['Flow sequence in block collection must be sufficiently indented and end with a ] (a.yaml:2)']],
  ['[1]\n', ['a compose file must be a mapping (a.yaml:1)']],
  ['a: 1\n---\ntext\n', ['a compose file must be a mapping (a.yaml:3)']],
  ['a: 1\nb: 2\na: 3\n', ['the key a a second time (a.yaml:3)']],
  ['a: 1\n---\n""\n', ['a compose file must be a mapping (a.yaml:3)']],
  ['"a\\"b\n', ['Missing closing … (a.yaml:2)']],
  ['{[a]: 1}: 2\n', ['a key that is not text (a.yaml:1)']],
  ['a: &a [*a]\n', ['the alias *a points nowhere or into itself (a.yaml:1)']],
  ['a: 1\nb: *c\n', ['the alias *c points nowhere or into itself (a.yaml:2)']],
  [`a: ${'x'.repeat(2 ** 20)}\n${'y'.repeat(9 * 2 ** 20)}`, []],
])('%# has problems', (text, problems) => {
  const found = read(text);
  if (problems.length > 0) expect(found).toEqual({ problems });
  else expect(found).toEqual({ problems: [expect.stringMatching(/^more than \d+ characters \(a\.yaml:1\)$/)] });
});

it('reads files of up to 524 288 characters', () => {
  const comment = (length: number) => `a: 1\n#${'x'.repeat(length - 6)}`;
  expect(['documents' in read(comment(524_288)), 'documents' in read(comment(524_289))]).toEqual([true, false]);
});

it('reports twenty problems', () => {
  const keys = Array.from({ length: 30 }, () => 'a: 1\n').join('');
  expect(read(keys)).toEqual({
    problems: Array.from({ length: 20 }, (_, n) => `the key a a second time (a.yaml:${n + 2})`),
  });
  const faults = read('a: }\n'.repeat(30));
  expect('problems' in faults && faults.problems.length).toBeLessThanOrEqual(20);
});

it.each([
  [40, true],
  [41, false],
])('%i levels are read: %j', (depth, isRead) => {
  const lists = depth - 1;
  expect('documents' in read(`a: ${'['.repeat(lists)}1${']'.repeat(lists)}\n`)).toBe(isRead);
});

it('counts values as often as they are used', () => {
  const list = (count: number) => `[${'1,'.repeat(count)}]`;
  const uses = (count: number) =>
    `a: &a ${list(999)}\n${Array.from({ length: count }, (_, n) => `k${n}: *a\n`).join('')}`;
  expect('documents' in read(uses(48))).toBe(true);
  expect(JSON.stringify(read(uses(50)))).toContain('more than 50000 values, copies counted in full (a.yaml:51)');
  expect('documents' in read(`a: ${list(49_998)}\n`)).toBe(true);
  expect('documents' in read(`a: ${list(49_999)}\n`)).toBe(false);
  expect('documents' in read(`p: ${list(9_999)}\na: &a ${list(99)}\nb: [${'*a,'.repeat(300)}]\n`)).toBe(true);
});

it('comments stay, except for lines with a secret', () => {
  const lines = [
    '# a shop',
    '# by https://u:hunter2@h/x',
    'services:',
    '  a: # one',
    '    image: x # password=hunter2',
  ];
  const more = [
    '    environment:',
    '      # TAG: "1"',
    '      # DB_PASSWORD: hunter2',
    '      A: "1"',
    '# TOKEN=hunter2',
  ];
  const { composeFiles } = importedBundle({ 'compose.yaml': `${[...lines, ...more].join('\n')}\n` });
  const [text = ''] = composeFiles.values();
  expect(text).not.toContain('hunter2');
  for (const kept of ['# a shop', '# one', '# TAG: "1"']) expect(text).toContain(kept);
});
