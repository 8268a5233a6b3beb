import { terminalSafe } from './terminalSafe.ts';

it.each([
  ['plain: ü 東 🚀', 'plain: ü 東 🚀'],
  ['a\x1b[2J', 'a [2J'],
  ['a\r\n\tb', 'a b'],
  ['\u0085a\x7f', ' a '],
])('%j becomes %j', (text, safe) => {
  expect(terminalSafe(text)).toBe(safe);
});
