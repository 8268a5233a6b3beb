import { formatHold, formatStanding, isLine, standingHold } from './hold.rules.ts';

const now = new Date('2026-11-26T12:00:00.000Z');
const fileOf = (text: string, modified = '2026-11-26T11:00:00.000Z') => ({ text, modifiedMs: Date.parse(modified) });
const held = (until: string, modified?: string) =>
  standingHold(fileOf(formatHold({ until, reason: 'disk swap' }), modified), now)?.until ?? null;

it('lasts until its end', () => {
  expect(held('2026-11-26T12:00:00.001Z')).toBe('2026-11-26T12:00:00.001Z');
  expect(held('2026-11-26T12:00:00.000Z')).toBeNull();
  expect(standingHold(null, now)).toBeNull();
});

it.each([
  ['never stands for more than seven days', '2036-11-26T11:00:00.000Z', undefined, '2026-12-03T11:00:00.000Z'],
  [
    'made ten years ahead counts from now',
    '2036-11-26T11:00:00.000Z',
    '2036-11-26T10:00:00Z',
    '2026-12-03T12:00:00.000Z',
  ],
  ['made an hour ahead keeps its end', '2026-11-26T14:00:00.000Z', '2026-11-26T13:00:00Z', '2026-11-26T14:00:00.000Z'],
  ['made ten years ago is over', '2026-11-26T14:00:00.000Z', '2016-11-26T13:00:00Z', null],
])('a hold that was %s', (_, until, modified, end) => {
  expect(held(until, modified)).toBe(end);
});

it.each([
  '',
  '{',
  'null',
  '[]',
  '{"schema":2,"until":"2026-11-26T13:00:00Z"}',
  '{"schema":1,"until":"tomorrow","reason":null}',
])('a file that contains %j holds for seven days', (text) => {
  expect(standingHold(fileOf(text), now)).toEqual({
    ...{ since: '2026-11-26T11:00:00.000Z', until: '2026-12-03T11:00:00.000Z' },
    reason: 'hold.json is damaged, or of another version of deployd',
    isDamaged: true,
  });
  expect(standingHold(fileOf(text, '2026-11-19T12:00:00.000Z'), now)).toBeNull();
});

it('treats a file with a reason of several lines as damaged', () => {
  const text = formatHold({ until: '2026-11-26T13:00:00.000Z', reason: 'a\nb' });
  expect(standingHold(fileOf(text), now)).toMatchObject({ isDamaged: true });
});

it('contains its start and its author, which holds of older versions lack', () => {
  const [until, since] = ['2026-11-26T13:00:00.000Z', '2026-11-26T11:00:00.000Z'];
  const told = (by: unknown) => standingHold(fileOf(JSON.stringify({ schema: 1, until, reason: null, by })), now);
  const plain = { until, since, reason: null, isDamaged: false };
  expect(standingHold(fileOf(formatHold({ until, reason: null, by: 'kim' })), now)).toEqual({ ...plain, by: 'kim' });
  expect([undefined, null, 1, 'a\nb'].map(told)).toEqual([plain, plain, plain, plain]);
});

it('shows the end, and start, author and reason if they are known', () => {
  const until = '2026-11-26T13:00:00.000Z';
  const since = '2026-11-26T11:00:00.000Z';
  expect(formatStanding({ until, since, by: 'kim', reason: null })).toBe(`until ${until}, since ${since}, by kim`);
  expect(formatStanding({ until, reason: null })).toBe(`until ${until}`);
  expect(formatStanding({ until, reason: 'disk swap' })).toBe(`until ${until}: disk swap`);
});

it('accepts one visible line as a reason', () => {
  expect(['a', 'disk swap, ask Ö.', 'x'.repeat(200)].map(isLine)).toEqual([true, true, true]);
  expect(['', ' a', 'a ', 'a\nb', 'a\u001b[0m', 'a\u2028b', '\u202ea', 'x'.repeat(201)].some(isLine)).toBe(false);
});
