import { interpolate, rewriteVariables, unescapeDollars } from './interpolate.ts';

const values: Record<string, string> = { A: 'a', EMPTY: '', MONEY: '$5' };
const valueOf = (name: string) => values[name] ?? null;

it.each([
  ['plain', 'plain'],
  ['x $A ${A}', 'x a a'],
  ['$MONEY', '$$5'],
  ['$$A', '$$A'],
  ['${NONE-d} ${NONE:-d}', 'd d'],
  ['${EMPTY-d}|${EMPTY:-d}', '|d'],
  ['${A-d} ${A:-d}', 'a a'],
  ['${NONE:-$A}', 'a'],
  ['${A+x} ${A:+x}', 'x x'],
  ['${NONE+x}|${NONE:+x}', '|'],
  ['${EMPTY+x}|${EMPTY:+x}', 'x|'],
  ['${A?m} ${A:?m}', 'a a'],
  ['${EMPTY?m}', ''],
  ['${NONE:-$$x}', '$$x'],
])('%s is %s', (text, expected) => {
  expect(interpolate(text, valueOf)).toBe(expected);
});

it.each(['$NONE', '${NONE?m}', '${EMPTY:?m}', '${NONE:?m}', '${A', '${NONE:-$NONE}', 'x $A ${NONE}'])(
  '%s has no value',
  (text) => {
    expect(interpolate(text, valueOf)).toBeNull();
  },
);

it('rewrites each variable, as it stands in the text', () => {
  expect(rewriteVariables('a ${A:-x}$B', ({ source }) => `<${source}>`)).toBe('a <${A:-x}><$B>');
  expect(rewriteVariables('a $A', () => null)).toBeNull();
});

it('a doubled dollar sign is read as one', () => {
  expect(unescapeDollars('a$$b$$$$')).toBe('a$b$$');
});
