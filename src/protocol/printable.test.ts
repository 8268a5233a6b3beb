import { printable } from './printable.ts';

it('keeps 80 characters, and shows each control character as one replacement', () => {
  expect(printable('é'.repeat(80))).toBe('é'.repeat(80));
  expect(printable('é'.repeat(81))).toBe(`${'é'.repeat(80)}…`);
  expect(printable('a\n\u001b\u2028\u200bb')).toBe('a\ufffd\ufffd\ufffd\ufffdb');
});
