import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { readPolicy } from './configFiles.ts';

const file = join(tempDir(), 'policy.yaml');
const policyIn = (text: string) => {
  writeFileSync(file, text);
  return readPolicy(file);
};

it('is the same as of a host with these keys, and the default without a file', () => {
  expect(readPolicy(undefined)).toEqual({ permit: {}, deny: [], images: 'any' });
  expect(policyIn('policy: {permit: {capabilities: [NET_ADMIN]}, deny: [rollback]}\n')).toEqual({
    permit: { capabilities: ['NET_ADMIN'] },
    deny: ['rollback'],
    images: 'any',
  });
});

it.each([
  ['[]', /policy.yaml:1: must hold keys, such as `policy: \{permit: \{capabilities/],
  [
    'policy: {images: none, permits: {}}',
    /policy.yaml:1: policy.permits: unknown key.*; \S+policy.yaml:1: policy.images:/,
  ],
])('reports each fault of %j', (text, told) => {
  expect(() => policyIn(text)).toThrow(told);
});

it('reports a missing file, and the option that names another', () => {
  expect(() => readPolicy(`${file}.none`)).toThrow(/does not exist; write it, or name another file with --policy/);
});
