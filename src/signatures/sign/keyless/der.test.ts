import { der } from './der.ts';

it.each([
  [0, '0400'],
  [127, '047f'],
  [128, '048180'],
  [255, '0481ff'],
])('writes a value of %i bytes with its length', (length, header) => {
  const value = Buffer.alloc(length, 1);
  expect(der(4, value.subarray(0, 100), value.subarray(100)).toString('hex')).toBe(header + value.toString('hex'));
});
