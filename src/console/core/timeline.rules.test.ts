import { segmentsOf, totalOf } from './time.rules.ts';

it('draws the steps of a tick one after another, to the scale of the longest tick', () => {
  expect(segmentsOf({ checkIn: 100, pull: 300 }, { scale: 800, width: 200 })).toEqual([
    { name: 'checkIn', milliseconds: 100, x: 0, width: 25 },
    { name: 'pull', milliseconds: 300, x: 25, width: 75 },
  ]);
  expect(totalOf({ checkIn: 100, pull: 300 })).toBe(400);
});

it('draws nothing where nothing took any time', () => {
  expect(segmentsOf({ checkIn: 0 }, { scale: 0, width: 200 })[0]!.width).toBe(0);
});

it('draws also what no host can have taken', () => {
  const absurd = { checkIn: -1, pull: 1e308, up: 1e308 };
  const scale = totalOf(absurd);
  expect(segmentsOf(absurd, { scale, width: 200 }).map(({ x, width }) => [x, width])).toEqual([
    [0, 0],
    [0, 100],
    [100, 100],
  ]);
});
