import { unusableReason } from './variableValue.ts';

describe('a value', () => {
  test.each([
    ['a number', 5, 'is not a string'],
    ['an object', { a: 'hunter2' }, 'is not a string'],
    ['null', null, 'is not a string'],
    ['a NUL', 'hunter2\0', 'holds a NUL character'],
    ['a high surrogate alone', 'hunter2\ud83d', 'is not valid Unicode (lone surrogate)'],
    ['a low surrogate alone', '\ude00hunter2', 'is not valid Unicode (lone surrogate)'],
    ['one byte too many', 'é'.repeat(65_534) + 'xx', 'is too long: V=value takes 131072 of 131071 bytes'],
  ])('with %s is unusable', (_what, text, reason) => {
    expect(unusableReason('V', text)).toBe(reason);
  });

  test.each([
    ['empty', ''],
    ['of several lines', 'a\r\nb'],
    ['just short enough', 'é'.repeat(65_534) + 'x'],
  ])('that is %s is usable', (_what, text) => {
    expect(unusableReason('V', text)).toBeNull();
  });
});
