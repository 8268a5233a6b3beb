import { displayWidth, harmless, harmlessJson, shorten } from './table.ts';

const hostile = `a\u001b[2J\u009b31m\u202ereversed\u2028b\r\nc\u{e0001}${String.fromCharCode(0xd800)}`;

it('shows no character that moves the cursor, colours or reorders', () => {
  expect(harmless(hostile)).not.toMatch(/[\p{C}\u2028\u2029]/u);
  expect(harmless(hostile)).toMatch(/^a.*reversed.*b.*c/);
  expect(harmless('größe 東京 ✓')).toBe('größe 東京 ✓');
});

it('shows none in JSON, which parses to the same value', () => {
  const value = { [hostile]: [hostile, 1, null] };
  const text = harmlessJson(value);
  expect(text.replaceAll('\n', '')).not.toMatch(/[\p{C}\u2028\u2029]/u);
  expect(JSON.parse(text)).toEqual(value);
});

it.each([
  ['', 0],
  ['abc', 3],
  ['東京', 4],
  ['e\u0301', 1],
  ['🚀', 2],
])('%j takes %i columns', (text, width) => {
  expect(displayWidth(text)).toBe(width);
});

it.each([
  ['abc', 3, 'abc'],
  ['abcd', 3, 'ab…'],
  ['東京都', 4, '東…'],
  ['東京都', 5, '東京…'],
])('shortens %j to %i columns', (text, width, short) => {
  expect(shorten(text, width)).toBe(short);
  expect(displayWidth(short)).toBeLessThanOrEqual(width);
});
