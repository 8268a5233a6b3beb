import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { newSigningKey, signBundle } from '../../fixtures/world/signatures/signBundle.ts';
import { byKey, claim, key, sha256 } from '../../fixtures/world/signatures/trusted.ts';
import { tempDir } from '../../fixtures/world/tempDir.ts';
import { judgeFiles } from './signatureFiles.ts';
import { keyName } from './trust.ts';

const archive = { ...claim, sha256 };
let dir: string;
beforeEach(() => void (dir = tempDir()));

function write(name: string, text: unknown): string {
  const path = join(dir, name);
  writeFileSync(path, typeof text === 'string' ? text : JSON.stringify(text, null, 2));
  return path;
}

const detailOf = async (files: string[], problems = ['/root.json is missing']) => {
  const { refusal } = await judgeFiles({ trust: byKey, problems }, archive, files);
  return refusal?.detail ?? null;
};

it('names who signed, and passes over what cannot be read where enough have', async () => {
  const [good, other] = [signBundle(sha256, claim, key), signBundle(sha256, claim, newSigningKey())];
  const files = [write('a', good), write('b', other), join(dir, 'none')];
  expect(await judgeFiles({ trust: byKey, problems: [] }, archive, files)).toEqual({
    signers: [keyName(key.hint)],
    refusal: null,
  });
});

it.each<[string, unknown, string]>([
  ['no JSON', '{', 'is not JSON'],
  ['JSON with a key twice', '{"a":{"b":1,"b":2}}', ': a.b stands twice'],
  ['larger than a signature may be', `"${'x'.repeat(4 * 65_536)}"`, 'cannot be read (EFBIG)'],
])('reports a file that is %s', async (_what, text, problem) => {
  const path = write('a', text);
  const told = problem.startsWith(':') ? `${path}${problem}` : `${path} ${problem}`;
  expect(await detailOf([path])).toBe(
    `nobody who is trusted has signed, and a signature by one of trust.bundles must be; ${told}; /root.json is missing`,
  );
});

it('reads a file of as many bytes as there may be', async () => {
  const path = write('a', `"${'x'.repeat(4 * 65_536 - 2)}"`);
  expect(await detailOf([path])).toContain('signature 1: it is not a Sigstore bundle');
});

it('reports a missing file, and claims that differ from the manifest', async () => {
  const lie = write('a', signBundle(sha256, { ...claim, env: 'eu-2' }, key));
  expect(await detailOf([lie, join(dir, 'none')], [])).toBe(
    `nobody who is trusted has signed, and a signature by one of trust.bundles must be; ${keyName(key.hint)} signed another env than the manifest's; ${join(dir, 'none')} is missing`,
  );
});
