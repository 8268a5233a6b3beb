import fc from 'fast-check';
import { parseComposeFile } from './composeFile.rules.ts';
import { textOf, valueAt } from './composeNode.rules.ts';

function problemsOf(text: string): string[] {
  const parsed = parseComposeFile('compose.yaml', text);
  return 'problems' in parsed ? parsed.problems.map(({ text }) => text) : [];
}

function rootOf(text: string) {
  const parsed = parseComposeFile('compose.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map(({ text }) => text).join('\n'));
  return parsed.file.root;
}

describe('parsing a compose file', () => {
  it.each([
    ['a: !x 1', 'write it in plain YAML that every parser reads alike'],
    [`a: ${'b'.repeat(600_000)}`, 'make it smaller, or divide the bundle'],
  ])('gives the cure of a fault (%#)', (text, cure) => {
    expect(parseComposeFile('compose.yaml', text)).toMatchObject({ problems: [{ cure }] });
  });

  it('keeps every scalar as written, with the line of its key', () => {
    const root = rootOf('a:\n  mode: 0440\n  on: yes\n  text:\n    "x"\n');
    expect(valueAt(root, 'a', 'mode')).toEqual({ kind: 'scalar', text: '0440', isNull: false, line: 2 });
    expect(textOf(valueAt(root, 'a', 'on'))).toBe('yes');
    expect(valueAt(root, 'a', 'text')).toEqual({ kind: 'scalar', text: 'x', isNull: false, isQuoted: true, line: 4 });
  });

  it.each([
    ['a:', true],
    ['a: ~', true],
    ['a: null', true],
    ['{a}', true],
    ['a: "null"', false],
    ['a: ""', false],
    ['a: nULL', false],
  ])('%s is null: %s', (text, isNull) => {
    expect(valueAt(rootOf(text), 'a')).toMatchObject({ kind: 'scalar', isNull });
  });

  it('gives the keys of a mapping precedence over merges, and earlier merges precedence over later ones', () => {
    const root = rootOf('x: &x {a: 1, b: 1}\ny: &y {a: 2, b: 2, c: 2}\nz: {a: 3, <<: [*x, *y]}\nw: {<<: *y, a: 4}\n');
    const texts = ['a', 'b', 'c'].map((key) => [textOf(valueAt(root, 'z', key)), textOf(valueAt(root, 'w', key))]);
    expect(texts).toEqual([
      ['3', '4'],
      ['1', '2'],
      ['2', '2'],
    ]);
  });

  it('resolves merges inside merges', () => {
    expect(textOf(valueAt(rootOf('a: &a {k: v}\nb: &b {<<: *a}\nc: {<<: *b}'), 'c', 'k'))).toBe('v');
  });

  const control = 'a control character, a foreign line end or a byte order mark';
  const ambiguous = 'an unquoted ? or leading : between brackets';

  type Row = [string, string, number];
  it.each<Row>([
    ['', 'a compose file must be a mapping', 1],
    ['# a\n- b', 'a compose file must be a mapping', 1],
    ...['a: b #\rc', 'a: b #\r\r', 'a: \u2028', '\ufeff\ufeffa: b', 'a: \ufeffb', 'a: \ud800'].map((text): Row => [
      text,
      control,
      1,
    ]),
    ['a: b\n\tc: d', 'indented by a tab', 2],
    ['# a\n%YAML 1.2\n---\na: b', 'a YAML directive', 2],
    ['a: b\nc: [', 'Flow sequence in block collection must be sufficiently indented and end with a ]', 2],
    ['a: *b\nc: [', 'Flow sequence in block collection must be sufficiently indented and end with a ]', 2],
    ['a: b\n---\n---\nc: d', 'several documents in one file', 2],
    ['a:\n  b: !c d', 'the YAML tag !c', 2],
    ['a: !!map {b: c}', 'the YAML tag tag:yaml.org,2002:map', 1],
    ['a: b\nc: &d.e f', 'the anchor &d.e, which compose cannot read', 2],
    ['a: &.b c', 'the anchor &.b, which compose cannot read', 1],
    ['a: &b c\nd: &b e', 'the anchor &b a second time', 2],
    ['a: &b [&b c]', 'the anchor &b a second time', 1],
    ['a: b\nc: *d', 'the alias *d points nowhere or into itself', 2],
    ['a: &b [*b]', 'the alias *b points nowhere or into itself', 1],
    ['a: "\\ud83d\\ude00"', 'half a character behind an escape, which compose cannot read', 1],
    ['a: b\n? c\n: d', 'a key behind a question mark', 2],
    ['a: b\nc: {"d":1, e:[f]}', 'the key e without a space behind its colon', 2],
    ['a: [b?]', ambiguous, 1],
    ['a: [\n  :b]', ambiguous, 2],
    ['a: {\n  b?: c}', ambiguous, 2],
    ['a: {b: c?}', ambiguous, 1],
    ['a: b\n[c]: d', 'a key that is not plain text', 2],
    ['&a b: c', 'a key that is not plain text', 1],
    ['!a b: c', 'a key that is not plain text', 1],
    ...['~', 'null', 'True', '1', '-1.5e3', '1e-30', '1e+3', '+.5', '0x1F', '0o17', '.inf', '-.INF', '.nan', '1_0'].map(
      (key): Row => [`a: b\n${key}: c`, `the key ${key} is not text`, 2],
    ),
    ['a: {"<<": {b: c}}', 'the key << is not text', 1],
    ['a:\n  b: 1\n  b: 2\n', 'the key b a second time', 3],
    ['a: &a {b: c}\nd:\n  <<: *a\n  <<: *a', 'the key << a second time', 4],
    ['a:\n  <<: b', 'a merge of something that is not a mapping', 2],
    ['a: {<<: [{b: c}, [d]]}', 'a merge of something that is not a mapping', 1],
    ['a: \ufffd', 'the file is not UTF-8', 1],
    ['\ufffd\ufffda\0:\0', 'the file is UTF-16', 1],
  ])('reports file and line of a problem: %j', (text, problem, line) => {
    expect(problemsOf(text)).toEqual([`${problem} (compose.yaml:${line})`]);
  });

  it.each([
    'a: b\r\nc: d\r\n',
    'a: "!b &c *d ? %e"\n#\t%\n',
    'a: &b-1_C [d]\ne: *b-1_C',
    'a: "\\u0041"\nb: \'\\ud83d\'\nc: \\ud83d',
    'a: {"b":1, c: [1, "d?", "?"], "e?": \'f?\'}',
    'a:\n- b?\n- :c',
    'a: b?\n:c: d\ne? : f',
    ...['"1": a', '1a: a', 'a1: b', 'nulla: b', '0x: a', '1e: a', 'e1: a', '.infa: b', '"~": a', '-: a'],
  ])('accepts %j', (text) => {
    expect(problemsOf(text)).toEqual([]);
  });

  it('reports each limit only once, and copies at their line', () => {
    const long = 'x'.repeat(200_000);
    const copies = '  - *a\n'.repeat(5);
    expect(problemsOf(`a: &a ${long}\nb:\n${copies}`)).toEqual([
      'more than 524288 characters, copies counted in full (compose.yaml:4)',
    ]);
  });

  it('reports problems of different kinds at once', () => {
    expect(problemsOf('a: !x 1\nb: *c\nb: 2\n')).toEqual([
      'the YAML tag !x (compose.yaml:1)',
      'the alias *c points nowhere or into itself (compose.yaml:2)',
      'the key b a second time (compose.yaml:3)',
    ]);
  });

  const bomb = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]'];
  for (let index = 1; index < 12; index += 1) {
    bomb.push(`a${index}: &a${index} [${`*a${index - 1},`.repeat(10)}]`);
  }
  const manyKeys = Array.from({ length: 5_000 }, (_, index) => `k${index}: v`);
  const merges = Array.from({ length: 5_000 }, (_, index) => `m${index}: {<<: *base}`);
  const longMerges = Array.from({ length: 60 }, (_, index) => `m${index}: {<<: *a}`);
  const chain = Array.from({ length: 3_000 }, (_, index) => `c${index}: &c${index} [*c${index - 1}]`);

  const bases = (base: string) => `services:\n  b: {${base}}\n${extending.join('\n')}`;
  const extending = Array.from({ length: 500 }, (_, index) => `  s${index}: {extends: b}`);

  it.each([
    ['an alias bomb', bomb.join('\n'), 'copies counted in full'],
    ['a merge bomb', `base: &base\n  ${manyKeys.join('\n  ')}\n${merges.join('\n')}`, 'copies counted in full'],
    ['aliases of a long text', `a: &a ${'x'.repeat(9_000)}\nb: [${'*a,'.repeat(60)}]`, 'characters, copies counted'],
    [
      'merges of a long text',
      `a: &a {k: ${'x'.repeat(9_000)}}\n${longMerges.join('\n')}`,
      'characters, copies counted',
    ],
    ['a base of many values', bases(`x: [${'a,'.repeat(200)}]`), 'values, copies counted in full (compose.yaml:244)'],
    [
      'a base of a long text',
      bases(`x: ${'x'.repeat(2_000)}`),
      'characters, copies counted in full (compose.yaml:258)',
    ],
    ['a long chain of aliases', `c-1: &c-1 x\n${chain.join('\n')}`, 'nested deeper'],
    ['deep nesting', `a: ${'['.repeat(60)}${']'.repeat(60)}`, 'nested deeper'],
    ['nesting too deep for the parser', '['.repeat(100_000), 'nested deeper than 40 levels (compose.yaml:1)'],
    ['too many keys', Array.from({ length: 55_000 }, (_, index) => `k${index}:`).join('\n'), 'values'],
    ['too many characters', `a: ${'x'.repeat(524_288)}`, 'characters'],
    ['a hundred thousand problems', '\t\n'.repeat(100_000), 'tab'],
  ])('stops at %s', (_title, text, message) => {
    const problems = problemsOf(text);
    expect(problems.length).toBeGreaterThan(0);
    expect(problems.length).toBeLessThanOrEqual(100);
    expect(problems.join('\n')).toContain(message);
  });

  const lists = (depth: number, inner = '') => `${'['.repeat(depth)}${inner}${']'.repeat(depth)}`;

  it.each<[string, (above: number) => string]>([
    ['nested deeper than 40 levels', (above) => `a: ${lists(40 + above)}`],
    ['nested deeper than 40 levels', (above) => `a: &a [${lists(9)}, []]\nb: ${lists(29 + above, '*a')}`],
    ['more than 50000 values, copies counted in full', (above) => `a: [${'b,'.repeat(49_998 + above)}]`],
    ['more than 524288 characters', (above) => `a: ${'b'.repeat(524_285 + above)}`],
  ])('refuses one more than the limit: %s (%#)', (limit, textWith) => {
    expect(problemsOf(textWith(0))).toEqual([]);
    expect(problemsOf(textWith(1))[0]).toMatch(new RegExp(`^${limit} \\(compose.yaml:[12]\\)$`));
  });

  it('accepts five hundred services of fifty values that extend the same one', () => {
    const services = Array.from({ length: 500 }, (_, index) => `  s${index}: {extends: b, x: [${'a,'.repeat(48)}]}`);
    expect(problemsOf(`services:\n  b: {image: a}\n${services.join('\n')}`)).toEqual([]);
  });

  it('never throws, whatever the text', () => {
    const pieces = [
      'a',
      ': ',
      '- ',
      '\n',
      '  ',
      '{',
      '}',
      '[',
      ']',
      ',',
      '&a ',
      '*a',
      '<<: ',
      '"',
      "'",
      '|',
      '!t ',
      '?',
      '#',
      '---\n',
    ];
    const texts = fc
      .array(fc.oneof(fc.constantFrom(...pieces), fc.string()), { maxLength: 40 })
      .map((all) => all.join(''));
    fc.assert(
      fc.property(texts, (text) => Array.isArray(problemsOf(text))),
      { numRuns: 2_000 },
    );
  });
});
