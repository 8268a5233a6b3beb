import { parseComposeFile } from './composeFile.rules.ts';
import { entriesOf, scalarsOf, valueAt } from './composeNode.rules.ts';
import { interpolate, parseEnvAssignments, textParts, variablesOf, withManifestVariables } from './variables.rules.ts';

/** Names of the variables, each with `!` when it is required. */
const usesOf = (text: string) => variablesOf(text).uses.map(({ name, required }) => `${name}${required ? '!' : ''}`);

describe('the variables of a text', () => {
  it.each<[string, ...string[]]>([
    ['a {b} }'],
    ['$$A $${B} $1 $- $'],
    ['$A-$_b1.${C}d', 'A!', '_b1!', 'C!'],
    ['$$$A', 'A!'],
    ['\u017f $\u017f1 ${\u212aB}', '\u017f1!', '\u212aB!'],
    ['${A-b} ${C:-d}', 'A', 'C'],
    ['${A:-b}\n${C?d}', 'A', 'C!'],
    ['${A+b}\n${B:+c}\n${C:?d}', 'A', 'B', 'C!'],
    ['${A:-${B}}c$D', 'A', 'B!', 'D!'],
    ['${A:-${B:-${C}}} ${D:-e}', 'A', 'B', 'C!', 'D'],
    ['${A:-{}}}${B}', 'A', 'B!'],
    ['${A:-}}', 'A'],
    ['${A:?$B} $C', 'A!', 'B!', 'C!'],
    ['${A:-b}$$C', 'A'],
  ])('%j', (text, ...names) => {
    expect(usesOf(text)).toEqual(names);
    expect(variablesOf(text)).not.toHaveProperty('error');
  });

  it.each<[string, ...string[]]>([
    ['${'],
    ['${}'],
    ['${1A}'],
    ['${A'],
    ['${A!b}'],
    ['${A:b}'],
    ['${A:-b\n}'],
    ['$B ${A:-${}', 'B!', 'A'],
    ['${A:-{}${B}', 'A'],
  ])('are malformed: %j', (text, ...names) => {
    expect(usesOf(text)).toEqual(names);
    expect(variablesOf(text).error).toBe(`malformed variable in ${text.replace('\n', '\ufffd')}`);
  });

  it('are at most a hundred on a line', () => {
    const line = '${A}'.repeat(100);
    expect(usesOf(`${line}\n${line}`)).toHaveLength(200);
    expect(variablesOf(`${line}\n${line}$`).error).toBeUndefined();
    expect(variablesOf(`a\n${line}\${`)).toEqual({
      uses: [],
      error: `more than 100 variables on a line of a\ufffd${line.slice(0, 78)}…`,
    });
  });
});

describe('the parts of a text', () => {
  it.each<[string, ...(string | null | [source: string, name: string, operator: string, inner: string])[]]>([
    [''],
    ['words', 'words'],
    ['a$$b', 'a', '$$', 'b'],
    ['$A', ['$A', 'A', '', '']],
    ['a $A b ${B} c', 'a ', ['$A', 'A', '', ''], ' b ', ['${B}', 'B', '', ''], ' c'],
    ['${A:-x${B}}y', ['${A:-x${B}}', 'A', ':-', 'x${B}'], 'y'],
    ['${A:-x} y ${B}', ['${A:-x}', 'A', ':-', 'x'], ' y ', ['${B}', 'B', '', '']],
    ['a ${', 'a ', null],
  ])('%j', (text, ...parts) => {
    const written = textParts(text).map((part) =>
      part === null || typeof part === 'string' ? part : [part.source, part.name, part.operator, part.inner],
    );
    expect(written).toEqual(parts);
  });
});

describe('a text with known variables', () => {
  const values = { A: 'a', EMPTY: '', DOLLAR: '$B', B: 'b' };

  it.each([
    ['x', 'x'],
    ['$A$$A ${A}', 'a$$A a'],
    ['${A:-x} ${A-x} ${A:?x} ${A?x} ${A:+x} ${A+x}', 'a a a a x x'],
    ['${EMPTY:-x} ${EMPTY-x} ${EMPTY?x} ${EMPTY:+x} ${EMPTY+x}', 'x    x'],
    ['${EMPTY:-${A}${B}}-$B', 'ab-b'],
    ['$DOLLAR ${DOLLAR}', '$$B $$B'],
  ])('is %j as compose reads it: %j', (text, filled) => {
    expect(interpolate(text, values)).toBe(filled);
  });

  it.each(['$C', '${A:-$C}', '${C:-x}', '${EMPTY:?why}', '${A', '${A:-${EMPTY:?why}}', '${A:-x} ${EMPTY:?why}'])(
    'is not known: %s',
    (text) => {
      expect(interpolate(text, values)).toBeNull();
    },
  );
});

function filled(text: string, values: Record<string, string>) {
  const parsed = parseComposeFile('c.yaml', text);
  if ('problems' in parsed) throw new Error(parsed.problems.map((problem) => problem.text).join('\n'));
  return withManifestVariables(parsed.file, values).root;
}

it('have their values in every text, on its line', () => {
  const root = filled('a: ${V}\nb:\n  - x\n  - {c: "$V-${S}", d: "${V:-y}z"}\n"$V": ~\n', { V: 'v' });
  expect(scalarsOf(root).map(({ text, line }) => [text, line])).toEqual([
    ...[
      ['v', 1],
      ['x', 3],
      ['$V-${S}', 4],
      ['vz', 4],
      ['~', 5],
    ],
  ]);
  expect(entriesOf(root).map(([key]) => key)).toEqual(['a', 'b', '$V']);
});

it('leave texts as written that would make the file too long; texts without variables do not count', () => {
  const root = filled(`a: [${'x'.repeat(4096)}, ${Array(40).fill('$V').join(', ')}]`, { V: 'v'.repeat(4096) });
  const lengths = scalarsOf(valueAt(root, 'a')!).map(({ text }) => text.length);
  expect(lengths).toEqual([4096, ...Array<number>(32).fill(4096), ...Array<number>(8).fill(2)]);
});

it.each(['v'.repeat(4097), 'a\u0001b', 'a\nb', 'a\u202eb'])('leave a text as written whose value is %j', (V) => {
  expect(scalarsOf(filled('a: $V', { V })).map(({ text }) => text)).toEqual(['$V']);
});

describe('the assignments of an env file', () => {
  it.each<[string, ...[string, string][]]>([
    [''],
    ['# A=1\n \t\r\n'],
    ['A=1', ['A', '1']],
    ['A= a b \t# c\n\n\texport B.c-d_1\t=\te=f#g\r\n', ['A', 'a b'], ['B.c-d_1', 'e=f#g']],
    ['A="a $B\n\\$C \\n\\r\\t\\"\\\\" # d\n', ['A', 'a $B\n$$C \n\r\t"\\']],
    ["A='$B ${'\nC=$D", ['A', '$$B $${'], ['C', '$D']],
    ['A: 1\nB :x:y\nexport C:\n', ['A', '1'], ['B', 'x:y'], ['C', '']],
    ['1A=1\nB[0]=2\n', ['1A', '1'], ['B[0]', '2']],
    ['A="C:\\Windows \\\'x"', ['A', "C:\\Windows \\'x"]],
    ['A=\nB=""\n', ['A', ''], ['B', '']],
  ])('%j', (text, ...assignments) => {
    expect(parseEnvAssignments(text)).toEqual({
      lines: assignments.map(([name, template]) => ({ name, template })),
    });
  });

  it.each(['A= "a #${B}"z', 'A=\t"a #${B}"z', 'A: "a #${B}"z', "A= 'x'B", 'A=\u00a0"a #${B}"', 'A=\u00a0a'])(
    '%j is not one: compose reads a quoted value there',
    (text) => {
      expect(parseEnvAssignments(text)).toMatchObject({ fault: 'has a line 1 that is not NAME=VALUE' });
    },
  );

  it('of a line of blanks as long as a file may be do not take long', () => {
    const blanks = ' '.repeat(500_000);
    expect(parseEnvAssignments(`A=a${blanks}b\n`).lines).toEqual([{ name: 'A', template: `a${blanks}b` }]);
  });

  it('end before the first line that is not one', () => {
    expect(parseEnvAssignments('A=1\nB\nC=2')).toEqual({
      lines: [{ name: 'A', template: '1' }],
      fault: 'has a line 2 that is not NAME=VALUE',
      rest: 'B\nC=2',
    });
    expect(parseEnvAssignments('A="\\0044"')).toMatchObject({ fault: 'has a line 1 that is not NAME=VALUE' });
    expect(parseEnvAssignments('A\0=\0')).toMatchObject({ fault: 'is UTF-16' });
    expect(parseEnvAssignments('A=1\n\u0085')).toEqual({ lines: [], fault: 'has a control character' });
  });
});
