import { interpolate, textParts, variablesOf } from './interpolation.ts';

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
