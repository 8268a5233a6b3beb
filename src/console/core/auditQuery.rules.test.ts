import { auditQueryOf, filteredBy, isAuditFiltered } from './forms.rules.ts';

const address = new URLSearchParams('env=eu-1&actor=oidc%3Aann&before=7&utm=x');

it('sends the API the filters that it knows', () => {
  expect(auditQueryOf(address, 50).toString()).toBe('limit=50&env=eu-1&actor=oidc%3Aann&before=7');
  expect(auditQueryOf(new URLSearchParams('act='), 50).toString()).toBe('limit=50');
});

it.each([
  [{}, 'env=eu-1&actor=oidc%3Aann'],
  [{ act: 'secret.set' }, 'env=eu-1&actor=oidc%3Aann&act=secret.set'],
  [{ actor: '' }, 'env=eu-1'],
])('with %j begins with the newest entry', (values, query) => {
  expect(filteredBy(address, values).toString()).toBe(query);
});

it('knows whether something is left out', () => {
  expect([isAuditFiltered(address), isAuditFiltered(new URLSearchParams('before=7'))]).toEqual([true, false]);
});
