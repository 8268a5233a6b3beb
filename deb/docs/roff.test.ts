import { entryOf, toRoff, titleOf } from './roff.ts';

it.each([
  ['a `--once` b', 'a \\fB\\-\\-once\\fR b'],
  ['.SH is not a heading', '\\&.SH is not a heading'],
  ["two\n'lines", "two\n\\&'lines"],
  ['C:\\path', 'C:\\epath'],
  ['the system’s 4 … 30', "the system's 4 ... 30"],
])('escapes %j', (text, written) => {
  expect(toRoff(text)).toBe(written);
});

it('puts several paragraphs under one tag', () => {
  expect(entryOf('key', 'one', 'two')).toBe('.TP\n.B key\none\n.IP\ntwo');
});

it('gives a page the date of its version', () => {
  const title = titleOf('DEPLOYD', 1, { version: '1.2.3', date: new Date('2026-01-02T03:04:05Z') });
  expect(title).toContain('.TH DEPLOYD 1 2026-01-02 "deployd 1.2.3"');
});
