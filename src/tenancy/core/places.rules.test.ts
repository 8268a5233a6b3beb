import { type Lane, lookUpPlaces, placesOf } from './places.rules.ts';

const lanes: Lane[] = ['agent', 'download', 'operator', 'stream'];

it.each([
  [400, [280, 80, 40, 100], 140],
  [40, [28, 8, 4, 10], 14],
  [1, [1, 1, 1, 1], 1],
])('of %i requests each lane has its share, and look-ups half of those of agents', (maxRequests, places, lookUps) => {
  expect(lanes.map((lane) => placesOf(lane, maxRequests))).toEqual(places);
  expect(lookUpPlaces(maxRequests)).toBe(lookUps);
});
