import { stepBackoff } from './backend.rules.ts';

it.each([
  [0, 5],
  [1, 5],
  [2, 10],
  [3, 20],
  [7, 320],
  [8, 600],
  [1000, 600],
])('after %i failures a step waits for %i seconds', (tries, seconds) => {
  expect(stepBackoff(tries)).toBe(seconds * 1000);
});
