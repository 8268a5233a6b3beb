import { findCycle } from './dependencyCycle.ts';

it.each<[string, Record<string, string[]>, string[] | null]>([
  ['nothing', {}, null],
  ['names that lead nowhere', { a: ['x'], b: [] }, null],
  ['two ways to one name', { a: ['b', 'c'], b: ['d'], c: ['d'], d: [] }, null],
  ['a name that leads to itself', { a: ['a'] }, ['a', 'a']],
  ['a circle behind a way that ends', { a: ['b', 'c'], b: [], c: ['d'], d: ['c'] }, ['c', 'd', 'c']],
  ['a long one', { a: ['b'], b: ['c'], c: ['a'] }, ['a', 'b', 'c', 'a']],
  [
    'as many ways as none could follow',
    Object.fromEntries(Array.from({ length: 99 }, (_, n) => [`${n}`, [`${n + 1}`, `${n + 1}`]])),
    null,
  ],
])('the circle in %s', (_title, graph, circle) => {
  expect(findCycle(new Map(Object.entries(graph)))).toEqual(circle);
});
