import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { asNobody } from '../../../fixtures/world/users.ts';
import { readTrustFile } from './configFiles.ts';

const dir = tempDir();
const file = join(dir, 'trust.yaml');
const trustIn = (text: string) => {
  writeFileSync(file, text);
  return readTrustFile(file);
};

it('reports each file that cannot be read, by its path beside the trust file', async () => {
  const named = `root: none.json, identities: [{issuer: "https://i.example", subject: s}]`;
  const missing = (name: string) => expect.stringContaining(join(dir, name)) as string;
  const problemsOf = (text: string) => trustIn(text).catch((error: unknown) => (error as Error).message.split('; '));
  expect(await problemsOf(`trust: {bundles: {${named}}}\n`)).toEqual([missing('none.json')]);
  expect(await problemsOf(`trust: {bundles: {keys: [none.pub], ${named}}}\n`)).toEqual([
    expect.stringMatching(/^CONFIG_INVALID: .*none.pub/),
    missing('none.json'),
  ]);
});

it.each([
  ['trust: {bundles: {threshold: 2, keys: [a.pub]}}', /:1: trust.bundles: must have a threshold that can be met/],
  ['trust: {bundles: ~}', /:1: trust.bundles: must be a mapping with the keys .* PEM files, each a path/],
  ['trust: {bundles: {keys: [""]}}', /:1: trust.bundles.keys.0: must be/],
  ['trust: {bundles: {root: "a\\tb"}}', /:1: trust.bundles.root: must be/],
  ['trust: {bundles: {colour: red}}', /:1: trust.bundles.colour: unknown key/],
  ['[]', /:1: must hold keys, such as `trust: \{bundles: \{keys: \[release.pub\]\}\}`/],
])('reports the fault of %s', async (text, told) => {
  await expect(trustIn(text)).rejects.toThrow(told);
});

it('reports a missing file', async () => {
  const told = /write it, or name another file on the command line/;
  await expect(readTrustFile(join(dir, 'none.yaml'))).rejects.toThrow(told);
});

it('reports a file that this user cannot read', async () => {
  const unreadable = join(dir, 'unreadable.yaml');
  writeFileSync(unreadable, 'trust: {}');
  chmodSync(unreadable, 0);
  const told = /is not readable by this user; name another on the command line/;
  await asNobody(() => expect(readTrustFile(unreadable)).rejects.toThrow(told));
});
