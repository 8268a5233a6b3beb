import type { Manifest } from '../../../../machines/types.ts';
import { hasSameContent } from './sameContent.ts';

const secret = { var: 'V', path: 'deployd/data/eu-1/see/x', field: 'value', version: 1 };
const manifest: Manifest = {
  ...{ schema: 1, name: 'shop', env: 'eu-1', version: '1', sequence: 1, production: false },
  ...{ compose: ['compose.yaml'], profiles: [], disk_need_bytes: null, registries: [], variables: {} },
  agent: { allow_privileged: false, allow_rollback: false },
  secrets: [secret],
};
const file = (path: string, sha256 = 'a', executable = false) => ({ path, size: 1, sha256, executable });
const files = [file('compose.yaml'), file('manifest.json')];
const contents = { files, directories: ['conf'] };

it.each<[string, Partial<Manifest>, Partial<typeof contents>]>([
  ['the same', {}, {}],
  ['sequence and version text', { sequence: 2, version: '2' }, {}],
  ['versions of secrets', { secrets: [{ ...secret, version: null }] }, {}],
  ['the file of the manifest', {}, { files: [file('compose.yaml'), file('manifest.json', 'b')] }],
  ['the order of files', {}, { files: files.toReversed() }],
])('is the same content with another: %s', (_, changes, more) => {
  const other = { manifest: { ...manifest, ...changes }, contents: { ...contents, ...more } };
  expect(hasSameContent({ manifest, contents }, other)).toBe(true);
});

it.each<[string, Partial<Manifest>, Partial<typeof contents>]>([
  ['file', {}, { files: [file('compose.yaml', 'b'), file('manifest.json')] }],
  ['mode', {}, { files: [file('compose.yaml', 'a', true), file('manifest.json')] }],
  ['further file', {}, { files: [...files, file('x')] }],
  ['directory', {}, { directories: ['data'] }],
  ['path of a secret', { secrets: [{ ...secret, path: 'deployd/data/eu-1/see/y' }] }, {}],
  ['flag', { agent: { allow_privileged: true, allow_rollback: false } }, {}],
  ['variable', { variables: { A: '1' } }, {}],
])('is other content with another: %s', (_, changes, more) => {
  const other = { manifest: { ...manifest, ...changes }, contents: { ...contents, ...more } };
  expect(hasSameContent({ manifest, contents }, other)).toBe(false);
});
