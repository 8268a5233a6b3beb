import { appendInterval, mergeIntervals, type Interval } from './intervals.ts';

/** `0-2 4-6` as intervals. */
function parse(text: string): Interval[] {
  return text.split(' ').map((interval): Interval => {
    const [start = '', end = ''] = interval.split('-');
    return [Number(start), Number(end)];
  });
}

it.each([
  ['stands alone after the last', '7-9', '0-1 2-3 4-6 7-9'],
  ['stands alone next to the last', '6-9', '0-1 2-3 4-6 6-9'],
  ['is merged with one that it overlaps', '5-9', '0-1 2-3 4-9'],
  ['is merged with one that it contains', '3-9', '0-1 2-3 3-9'],
  ['is merged with all that it overlaps', '1-9', '0-1 1-9'],
  ['is merged with the last two of four', '7-9 3-10', '0-1 2-3 3-10'],
])('an interval that is appended %s', (_, interval, expected) => {
  const intervals = parse('0-1 2-3 4-6');
  for (const appended of parse(interval)) appendInterval(intervals, appended);
  expect(intervals).toEqual(parse(expected));
});

it.each([
  ['are sorted', '4-6 0-2', '0-2 4-6'],
  ['stay separate if adjacent', '2-4 0-2', '0-2 2-4'],
  ['are merged if they overlap', '3-6 0-4', '0-6'],
  ['are merged if one contains the other', '2-3 0-6 5-8', '0-8'],
])('intervals in no order %s', (_, intervals, expected) => {
  expect(mergeIntervals(parse(intervals))).toEqual(parse(expected));
});
