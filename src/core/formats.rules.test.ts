import { isServiceUrl } from './formats.rules.ts';

it.each([
  'https://user:pass@tenancy.example',
  'https://tenancy.example/a@b',
  'https://tenancy.example/?a=1',
  'https://tenancy.example/#a',
  'https://tenancy.example?',
  'https://tenancy.example\\a',
  'https://tenancy.example/a\\b',
  'https://tenancy.example/a b',
  'https://tenancy.example\t',
  'https:///tenancy.example',
  'https://',
  'ftp://tenancy.example',
  'xhttps://tenancy.example',
  'https:tenancy.example',
  'https://tenancy.example:99999',
  'tenancy.example',
])('%j is not a base address', (address) => {
  expect(isServiceUrl(address)).toBe(false);
});

it.each(['https://tenancy.example', 'http://[::1]:8080/', 'https://a/base/b'])('%j is a base address', (address) => {
  expect(isServiceUrl(address)).toBe(true);
});
