import { dottedKeyOf, lineOf, parseYamlSource } from './configFile.ts';

it('contains the values, and the line of each', () => {
  const source = parseYamlSource('# c\na: 1\nb:\n  - x\n  - y: [2]\nc~d/e: {}\n: 3\n');
  expect(source.values).toEqual({ a: 1, b: ['x', { y: [2] }], 'c~d/e': {}, '': 3 });
  expect([...source.lines]).toEqual([
    ['/a', 2],
    ['/b', 3],
    ['/b/0', 4],
    ['/b/1', 5],
    ['/b/1/y', 5],
    ['/b/1/y/0', 5],
    ['/c~0d~1e', 6],
    ['/', 7],
  ]);
  expect(source.problems).toEqual([]);
});

it.each(['', '# nothing yet\n', '---\n', 'null'])('contains null for the empty text %j', (text) => {
  expect(parseYamlSource(text)).toEqual({ values: null, lines: new Map(), problems: [] });
});

it('contains the last value of a key that is given twice, and the problem', () => {
  const { values, problems } = parseYamlSource('a: 1\na: 2\nb:\n  - c: 3\n    c: 4\n');
  expect(values).toEqual({ a: 2, b: [{ c: 4 }] });
  expect(problems).toEqual([
    { line: 2, key: 'a', message: 'is given twice, first in line 1' },
    { line: 5, key: 'b.0.c', message: 'is given twice, first in line 4' },
  ]);
});

it.each<[string, ...[number, string][]]>([
  ['a: [1\nb: 2', [2, 'not YAML: Flow sequence in block collection must be sufficiently indented and end with a ]']],
  [
    'x: 1\na: 1\n b: 2',
    [2, 'not YAML: Nested mappings are not allowed in compact mappings'],
    [2, 'not YAML: Implicit keys need to be on a single line'],
  ],
  ['\na: !unknown eu-1', [2, 'not YAML: Unresolved tag: !unknown']],
  ['a: 1\n---\nb: 2\n---\nc: 3', [2, 'a second document begins here; only one is allowed']],
  ['a: &x 1\nb: *x\nc: [*x]\n', [2, 'aliases are not allowed'], [3, 'aliases are not allowed']],
])('%j is not usable', (text, ...problems) => {
  expect(parseYamlSource(text)).toEqual({
    values: undefined,
    lines: new Map(),
    problems: problems.map(([line, message]) => ({ line, key: '', message })),
  });
});

it('returns the dotted key of a JSON pointer', () => {
  expect(dottedKeyOf('/a~1b/c~0d/~01/0')).toBe('a/b.c~d.~1.0');
});

it.each([
  ['/a/b', 2],
  ['/a/b/0/1', 2],
  ['/a/c', 1],
  ['/ab', null],
  ['', null],
])('the line of %j is %s', (pointer, line) => {
  expect(
    lineOf(
      new Map([
        ['/a', 1],
        ['/a/b', 2],
      ]),
      pointer,
    ),
  ).toBe(line);
});
