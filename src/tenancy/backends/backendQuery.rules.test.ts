import { parseOrder, parseStates } from './backend.rules.ts';

it('states are separated by commas', () => {
  expect([parseStates('active,offline'), parseStates(undefined)]).toEqual([['active', 'offline'], undefined]);
});

it.each([
  [undefined, { column: 'id', isDescending: false }],
  ['site', { column: 'site', isDescending: false }],
  ['-last_seen_at', { column: 'last_seen_at', isDescending: true }],
])('the order %s', (text, order) => {
  expect(parseOrder(text)).toEqual(order);
});
