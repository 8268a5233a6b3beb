import type { Manifest } from '../../../../machines/types.ts';
import { validateSecretPaths } from './secretPath.ts';

function refusalOf(...paths: string[]) {
  const secrets = paths.map((path, index) => ({ var: `V${index}`, path, field: 'f', version: null }));
  return validateSecretPaths({ env: 'eu-1', secrets } as unknown as Manifest);
}

describe('secret paths', () => {
  it.each([
    'deployd/data/eu-1/see/db',
    'deployd/data/eu-1/see/a/b_c-d.e',
    'deployd/data/eu-1/see/..a',
    'deployd/data/eu-1/see/a@b',
  ])('%s is below the branch of the env', (path) => {
    expect(refusalOf(path)).toBeNull();
  });

  it.each([
    '',
    'deployd/data/eu-2/see/db',
    'deployd/data/eu-1/see',
    'deployd/data/eu-1/see/',
    'deployd/data/eu-1/seed/db',
    'deployd/data/eu-1/db',
    'deployd/metadata/eu-1/see/db',
    'deployd/eu-1/see/db',
    '/deployd/data/eu-1/see/db',
    'v1/deployd/data/eu-1/see/db',
    'Deployd/data/eu-1/see/db',
    'deployd//data/eu-1/see/db',
    'deployd/data/eu-1/see/../../eu-2/see/db',
    'deployd/data/eu-1/see/..',
    'deployd/data/eu-1/see/a/../b',
    'deployd/data/eu-1/see/./a',
    'deployd/data/eu-1/see/a/.',
    'deployd/data/eu-1/see/a//b',
    'deployd/data/eu-1/see/a/',
    'deployd/data/eu-1/see/%2e%2e/b',
    'deployd/data/eu-1/see/a%2fb',
    'deployd/data/eu-1/see/a%00',
    'deployd/data/eu-1/see/..\\..\\eu-2',
    'deployd/data/eu-1/see/a?version=1',
    'deployd/data/eu-1/see/a#b',
    'deployd/data/eu-1/see/a;b',
    'deployd/data/eu-1/see/a b',
    'deployd/data/eu-1/see/a\nb',
    'deployd/data/eu-1/see/a\n',
    'deployd/data/eu-1/see/\u0000',
    'deployd/data/eu-1/see/\uff0e\uff0e/x',
  ])('%j is refused', (path) => {
    expect(refusalOf(path)?.code).toBe('SECRET_PATH_REFUSED');
  });

  it('are all reported, with their variables and the allowed paths', () => {
    expect(
      refusalOf('x', 'deployd/data/eu-1/see/ok', 'deployd/data/eu-1/see/a/../b', 'deployd/data/eu-1/see/a b')?.detail,
    ).toBe(
      'V0: x leads elsewhere; V2: deployd/data/eu-1/see/a/../b has an empty, "." or ".." part; V3: deployd/data/eu-1/see/a b has a character other than letters, digits and ._~@+=:,-',
    );
  });
});
