import { isUnchanged, wantedBytes } from './bundle.rules.ts';

const etag = '"abc"';

it.each([
  ['bytes=0-0', { start: 0, end: 0 }],
  ['bytes=0-99', { start: 0, end: 99 }],
  ['bytes=0-100', { start: 0, end: 99 }],
  ['bytes=99-', { start: 99, end: 99 }],
  [' bytes=5- ', { start: 5, end: 99 }],
  ['bytes=-1', { start: 99, end: 99 }],
  ['bytes=-1000', { start: 0, end: 99 }],
  ['bytes=100-', 'unsatisfiable'],
  ['bytes=100-200', 'unsatisfiable'],
  ['bytes=-0', 'unsatisfiable'],
  ['bytes=7-5', null],
  ['bytes=-', null],
  ['bytes=0-1,5-6', null],
  ['bytes=a-', null],
  ['bytes=1-2x', null],
  ['items=0-1', null],
  ['xbytes=0-1', null],
  ['bytes=9999999999999999-', null],
  [undefined, null],
])('of 100 bytes, %s means %j', (range, wanted) => {
  expect(wantedBytes({ range, ifRange: undefined }, { etag, size: 100 })).toEqual(wanted);
});

it.each([
  [etag, { start: 1, end: 2 }],
  ['"other"', null],
  ['W/"abc"', null],
  ['Wed, 21 Oct 2026 07:28:00 GMT', null],
])('with If-Range %s, a range is %j', (ifRange, wanted) => {
  expect(wantedBytes({ range: 'bytes=1-2', ifRange }, { etag, size: 100 })).toEqual(wanted);
});

it('finds an ETag unchanged that has in it what marks a weak one', () => {
  expect(isUnchanged('"aW/b"', '"aW/b"')).toBe(true);
});

it('has no last byte in an empty entity', () => {
  expect(wantedBytes({ range: 'bytes=-5', ifRange: undefined }, { etag, size: 0 })).toBe('unsatisfiable');
});

it.each([
  [etag, true],
  ['"x", "abc"', true],
  ['W/"abc"', true],
  ['*', true],
  ['"x"', false],
  ['abc', false],
  [undefined, false],
])('If-None-Match %s means unchanged: %s', (ifNoneMatch, expected) => {
  expect(isUnchanged(ifNoneMatch, etag)).toBe(expected);
});
