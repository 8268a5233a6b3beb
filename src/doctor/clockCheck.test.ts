import { checkLines } from '../../fixtures/spec/checkLines.ts';
import { checkClock } from './clockCheck.ts';

it.each([
  [
    [60, -10],
    ['clock: passed', '60 s ahead of the services'],
  ],
  [
    [10, -61],
    [
      ...['clock: failed', '61 s behind the services'],
      ...['the clock is 61 s behind the services', 'sudo timedatectl set-ntp true'],
    ],
  ],
  [[], ['clock: unknown', 'no service told its time']],
])('the clock with the skews %j', (skews, lines) => {
  expect(checkLines(checkClock(skews))).toEqual(lines);
});
