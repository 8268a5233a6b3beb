import { backendCursorOf, backendCursorPattern, backendPlaceOf } from './lists.rules.ts';

const id = '0199f0d4-5cb7-7c2e-9a51-1b7c4f0d2a10';

it.each([
  ['id', id],
  ['site', 'Köln / 1'],
  ['site', ''],
  ['last_seen_at', 1_764_144_000_000],
] as const)('a place in a list sorted by %s is found again by its cursor: %s', (column, key) => {
  const cursor = backendCursorOf({ key, id }, column);
  expect(cursor).toMatch(new RegExp(backendCursorPattern));
  expect(backendPlaceOf(cursor, column)).toEqual({ key, id });
});

it.each([
  ['id', `YQ.${id}`],
  ['site', id],
  ['last_seen_at', `${Buffer.from('7x').toString('base64url')}.${id}`],
  ['last_seen_at', `${Buffer.from('x7').toString('base64url')}.${id}`],
  ['last_seen_at', `.${id}`],
  ['site', `${Buffer.from('a\0').toString('base64url')}.${id}`],
] as const)('a cursor of another list names no place in one sorted by %s: %s', (column, cursor) => {
  expect(backendPlaceOf(cursor, column)).toBeNull();
});

it.each(['', 'x', `a b.${id}`, `a.b.${id}`, `${id} `])('%j is no cursor', (text) => {
  expect(text).not.toMatch(new RegExp(backendCursorPattern));
});
