import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { deployctl } from '../../../fixtures/world/ctl/deployctl.ts';
import { newSigningKey, signingKeyOf } from '../../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';

const dir = tempDir();
const at = (name: string) => join(dir, name);
const archive = at('shop.tar.gz');
const [release, review] = [newSigningKey(), signingKeyOf(generateKeyPairSync('ed25519').privateKey)];
const nameOf = (hint: string) => `key SHA256:${hint.replace('=', '')}`;

beforeAll(async () => {
  mkdirSync(at('keys'));
  for (const [name, key] of Object.entries({ release, review })) {
    writeFileSync(at(`${name}.pem`), key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(at(`keys/${name}.pub`), key.publicPem);
  }
  writeFileSync(at('one.yaml'), 'trust: {bundles: {keys: [keys/release.pub]}}\n');
  writeFileSync(at('two.yaml'), 'trust: {bundles: {threshold: 2, keys: [keys/release.pub, keys/review.pub]}}\n');
  await deployctl(['bundle', 'init', at('shop'), '--env', 'eu-1']);
  await deployctl(['bundle', 'pack', at('shop'), '--out', archive]);
  await deployctl(['bundle', 'sign', '--yes', archive, '--key', at('release.pem')]);
  await deployctl(['bundle', 'sign', '--yes', archive, '--key', at('review.pem'), '--out', at('review.json')]);
  copyFileSync(archive, at('unsigned.tar.gz'));
});

const verify = (file: string, ...options: string[]) => deployctl(['bundle', 'verify', file, ...options]);

it('names who signed, by the file beside the archive', async () => {
  const { exit, stdout } = await verify(archive, '--trust', at('one.yaml'));
  expect(exit).toBe(0);
  expect(stdout).toContain(`signed by   ${nameOf(release.hint)}\n`);
});

it('takes the signatures that are named, and counts different signers', async () => {
  const both = ['--signatures', `${archive}.sigstore.json`, at('review.json')];
  const { stdout } = await verify(archive, '--trust', at('two.yaml'), '--json', ...both);
  const signers = [nameOf(release.hint), nameOf(review.hint)].toSorted();
  expect(JSON.parse(stdout)).toMatchObject({ signers, refusals: [] });
  const twice = ['--signatures', `${archive}.sigstore.json`, `${archive}.sigstore.json`];
  const { exit, stderr } = await verify(archive, '--trust', at('two.yaml'), ...twice);
  expect(exit).toBe(1);
  expect(stderr).toContain(`SIGNATURE_REFUSED: only ${nameOf(release.hint)} signed`);
});

it.each([
  ['without a signature', 'unsigned.tar.gz', [], 'unsigned.tar.gz.sigstore.json is missing'],
  ['by somebody else', 'shop.tar.gz', ['--signatures', 'review.json'], `${nameOf(review.hint)}, which is not trusted`],
])('refuses a bundle %s as a host does', async (_what, file, options, reason) => {
  const named = options.map((option) => (option.startsWith('--') ? option : at(option)));
  const { exit, stderr } = await verify(at(file), '--trust', at('one.yaml'), ...named);
  expect(exit).toBe(1);
  expect(stderr).toContain('deployctl: SIGNATURE_REFUSED: ');
  expect(stderr).toContain(reason);
});

it.each([
  ['a directory', 'shop', ['--trust', 'one.yaml'], 'ARCHIVE_INVALID'],
  ['signatures without a trust', 'shop.tar.gz', ['--signatures', 'review.json'], 'TRUST_MISSING'],
  ['a trust that is none', 'shop.tar.gz', ['--trust', 'review.json'], 'CONFIG_INVALID'],
])('is not used with %s', async (_what, file, options, code) => {
  const named = options.map((option) => (option.startsWith('--') ? option : at(option)));
  const { exit, stderr } = await verify(at(file), ...named);
  expect([exit, stderr]).toEqual([2, expect.stringContaining(`deployctl: ${code}: `)]);
});

it('prints what will probably not work, and exits with 0', async () => {
  await deployctl(['bundle', 'init', at('windows'), '--env', 'eu-1']);
  mkdirSync(at('windows/conf'));
  writeFileSync(at('windows/conf/run.sh'), '#!/bin/sh\r\nexec nginx\r\n');
  const service = '{image: nginx:1.27, entrypoint: [/conf/run.sh], volumes: ["./conf:/conf:ro"]}';
  writeFileSync(at('windows/compose.yaml'), `services: {web: ${service}}\n`);
  const notice = 'service web: entrypoint /conf/run.sh begins with a line that ends with CR LF';
  const { exit, stdout } = await verify(at('windows'));
  expect({ exit, stdout }).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining(`notices     ${notice}`) as string,
  });
  const { notices } = JSON.parse((await verify(at('windows'), '--json')).stdout) as { notices: { text: string }[] };
  expect(notices.map(({ text }) => text)).toEqual([expect.stringContaining(notice)]);
});
