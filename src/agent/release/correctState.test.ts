import { createHash } from 'node:crypto';
import { mkdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parse } from 'yaml';
import { newSigstore } from '../../../fixtures/world/signatures/keyless.ts';
import { newSigningKey } from '../../../fixtures/world/signatures/signBundle.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { readTrust } from '../../signatures/signatureFiles.ts';
import type { TrustSettings } from '../../api/trust.rules.ts';
import { storeTrust } from './correctState.ts';

let dir: string;
beforeEach(() => void (dir = tempDir()));
const { publicPem, privateKey } = newSigningKey();
const identities = [{ issuer: 'https://id.example', subject: 'release@example' }];
const root = JSON.parse(newSigstore().trustRoot()) as object;

async function store(trust: unknown) {
  const [printed, told]: [string[], string[]] = [[], []];
  await writeFile(join(dir, 'trust.json'), typeof trust === 'string' ? trust : JSON.stringify(trust));
  const out = { log: (line: string) => void printed.push(line), error: (line: string) => void told.push(line) };
  const exit = await storeTrust(join(dir, 'config.yaml'), join(dir, 'trust.json'), out);
  return { exit, printed, told: told.join('\n') };
}

it('stores keys in files that config.yaml names, and prints the fingerprints', async () => {
  const privatePem = privateKey.export({ type: 'pkcs8', format: 'pem' });
  const { exit, printed, told } = await store({ threshold: 2, keys: [publicPem + privatePem], identities, root });
  expect([exit, printed.length]).toEqual([0, 1]);
  expect(told).toMatch(
    /^2 signatures required, from 2 trusted signers:\nkey SHA256:\S{43}\nrelease@example \(https:\/\/id.example\)\ntrust root sha256 ([0-9a-f]{64})$/,
  );
  const { trust } = parse(printed.join()) as { trust: { bundles: TrustSettings } };
  expect(trust.bundles).toMatchObject({ threshold: 2, identities });
  const stored = await readFile(trust.bundles.root!);
  expect(told).toContain(createHash('sha256').update(stored).digest('hex'));
  const read = await readTrust(trust.bundles);
  expect(read).toMatchObject({ trust: { keys: [publicPem] }, problems: [] });
  expect((await stat(trust.bundles.keys![0]!)).mode & 0o777).toBe(0o644);
});

it('stores other keys in other files, so that the keys in use stay', async () => {
  const first = await store({ keys: [publicPem] });
  const second = await store({ keys: [newSigningKey().publicPem] });
  expect(await store({ keys: [publicPem] })).toEqual(first);
  expect(second.printed).not.toEqual(first.printed);
  const { trust } = parse(first.printed.join()) as { trust: { bundles: TrustSettings } };
  expect(await readFile(trust.bundles.keys![0]!, 'utf8')).toBe(publicPem);
});

it.each([
  ['no signer', { threshold: 1, keys: [], identities: [] }, 'contains neither keys nor identities'],
  ['text', 'release.pub', 'contains neither keys nor identities'],
  ['identities without a trust root', { identities }, 'contains identities, and no trust root'],
  ['another kind of key', { keys: [publicPem, 'PEM'] }, 'key 2 is not a public key in PEM'],
])('rejects %s', async (_, trust, reason) => {
  expect(await store(trust)).toMatchObject({ exit: 1, printed: [], told: expect.stringContaining(reason) as string });
});

it('writes nothing through a link that the account of the agent made', async () => {
  await mkdir(join(dir, 'elsewhere'));
  await symlink('elsewhere', join(dir, 'trust'));
  expect(await store({ keys: [publicPem] })).toMatchObject({ exit: 1, printed: [] });
});
