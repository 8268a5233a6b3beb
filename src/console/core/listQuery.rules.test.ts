import { directionOf, isFiltered, listQueryOf, sortedBy, withValues } from './pages.rules.ts';

const query = (text: string) => new URLSearchParams(text);

it('sends the API only the filters in the address', () => {
  expect(String(listQueryOf(query('q=ber&state=active&env=&sort=-state&utm_source=x')))).toBe(
    'sort=-state&limit=60&q=ber&state=active',
  );
  expect(String(listQueryOf(query('')))).toBe('sort=host_name&limit=60');
});

it('a change begins at the first page, and an empty value removes a parameter', () => {
  expect(String(withValues(query('q=ber&after=abc&env=eu-1'), { q: '', env: 'us-1', sick: null }))).toBe('env=us-1');
});

it('a heading sorts ascending, then descending', () => {
  const once = sortedBy(query('q=ber'), 'state');
  const twice = sortedBy(once, 'state');
  expect([String(once), String(twice), String(sortedBy(twice, 'state'))]).toEqual([
    'q=ber&sort=state',
    'q=ber&sort=-state',
    'q=ber&sort=state',
  ]);
  expect([once, twice].map((each) => directionOf(each, 'state'))).toEqual(['ascending', 'descending']);
  expect([directionOf(twice, 'site'), directionOf(query(''), 'host_name')]).toEqual(['none', 'ascending']);
});

it('a list is filtered if its query leaves hosts out', () => {
  expect(['sort=site', 'after=x', 'q=a', 'deferred_by=hold'].map((text) => isFiltered(query(text)))).toEqual([
    ...[false, false, true, true],
  ]);
});
