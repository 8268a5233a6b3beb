import { directionOf, isFiltered, listQueryOf, sortedBy, withValues } from './listQuery.ts';

const query = (text: string) => new URLSearchParams(text);

it('asks the API for what the address names, and for nothing else', () => {
  expect(String(listQueryOf(query('q=ber&state=active&state=offline&env=&sort=-site&utm_source=x')))).toBe(
    'q=ber&state=active&state=offline&sort=-site',
  );
});

it('a change begins at the first page, and an empty value removes a parameter', () => {
  expect(String(withValues(query('q=ber&after=abc&env=eu-1'), { q: '', env: 'us-1', sick: null }))).toBe('env=us-1');
});

it('a heading sorts ascending, then descending', () => {
  const once = sortedBy(query('q=ber'), 'site');
  const twice = sortedBy(once, 'site');
  expect([String(once), String(twice), String(sortedBy(twice, 'site'))]).toEqual([
    'q=ber&sort=site',
    'q=ber&sort=-site',
    'q=ber&sort=site',
  ]);
  expect([once, twice].map((each) => directionOf(each, 'site'))).toEqual(['ascending', 'descending']);
  expect(directionOf(twice, 'state')).toBe('none');
});

it('a list is filtered by what leaves hosts out', () => {
  expect(['sort=site', 'after=x', 'q=a', 'sick=true'].map((text) => isFiltered(query(text)))).toEqual([
    ...[false, false, true, true],
  ]);
});
