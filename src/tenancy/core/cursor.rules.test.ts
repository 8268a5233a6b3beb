import { cursorOf, cursorPattern, placeOf } from './lists.rules.ts';

const pattern = new RegExp(cursorPattern);

it.each([
  [{ time: 0, id: 'a' }, '0.a'],
  [{ time: 1_795_622_400_000, id: 'Z9._-' }, '1795622400000.Z9._-'],
])('the place %j is the cursor %s, and back', (place, cursor) => {
  expect(cursorOf(place)).toBe(cursor);
  expect(placeOf(cursor)).toEqual(place);
  expect(cursor).toMatch(pattern);
});

it('has at most 15 digits of time and 128 characters of an id', () => {
  const [digits, id] = ['9'.repeat(15), 'x'.repeat(128)];
  expect(`${digits}.${id}`).toMatch(pattern);
  for (const cursor of [`${digits}9.${id}`, `${digits}.${id}x`]) expect(cursor).not.toMatch(pattern);
});

it.each(['', '1', '1.', '.a', 'a.b', '-1.a', '1,a', '1.a b', '1.ü', ' 1.a', '1.a '])('%j is no cursor', (text) => {
  expect(text).not.toMatch(pattern);
});
