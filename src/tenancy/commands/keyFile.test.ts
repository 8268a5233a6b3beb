import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { captureOutput, initialize, inStore, settingsBelow } from '../../../fixtures/world/tenancy/installation.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { createSealer, KeyError } from '../keys/keyRing.ts';
import { changeVersions, readVersion } from '../secretstore/records.ts';
import { createTenancy } from '../server/createTenancy.ts';
import { ownIdentity } from '../keys/ownAuthority.ts';
import { sealedNames } from '../webhooks/deliver.ts';
import { insertWebhook } from '../store/webhooks.ts';
import { createEnv } from '../store/envs.ts';
import { backup, restore } from './backup.ts';
import { discardSecrets, rewrap } from './store.ts';
import { lockStore, readKeyFile } from './storeAccess.ts';

let settings: TenancySettings;
beforeEach(async () => {
  settings = { ...settingsBelow(tempDir()), secretstore: { listen: '127.0.0.1:0' } };
  await initialize(settings);
  await inTenancy(async ({ secretstore, store }) => {
    await createEnv(store, 'eu-1', false);
    await secretstore.writeSecret({ env: 'eu-1', key: 'db', data: { password: 'x' } });
  });
});

/** Starts the service without its HTTP interface. */
async function inTenancy(work: (parts: Awaited<ReturnType<typeof createTenancy>>['parts']) => Promise<unknown>) {
  await inStore(settings, async (store) => {
    const keyFile = readKeyFile(settings.key_file);
    const { parts, close } = await createTenancy(settings, { store, keyFile, log: () => undefined });
    await work(parts);
    await close();
  });
}

const password = (of = settings, keyFile = of.key_file) =>
  inStore(of, async (store) => {
    const records = { store, keyFile: readFileSync(keyFile), clock: Date.now };
    return (await readVersion(records, { env: 'eu-1', key: 'db' }, 0))?.fields?.['password'];
  });
const run = async (command: (out: ReturnType<typeof captureOutput>) => Promise<number>) => {
  const output = captureOutput();
  expect(await command(output)).toBe(0);
  return output.out.join('\n');
};

describe('a wrong key file', () => {
  it('keeps the service from starting, and loses nothing', async () => {
    const right = readFileSync(settings.key_file);
    writeFileSync(settings.key_file, randomBytes(32));
    await expect(inTenancy(async () => undefined)).rejects.toThrow(KeyError);
    await expect(inTenancy(async () => undefined)).rejects.toThrow(/the key file is not the one that encrypted the s/);
    writeFileSync(settings.key_file, right);
    await inTenancy(async ({ secretstore }) => expect(await secretstore.listSecrets('eu-1')).toHaveLength(1));
    expect(await password()).toBe('x');
  });
});

describe('a lost key file', () => {
  it('costs the secrets, which are discarded and set again after a restore', async () => {
    const file = join(tempDir(), 'backup');
    await run((out) => backup(settings, file, out));
    rmSync(settings.key_file);
    const output = captureOutput();
    expect(await restore(settings, file, output)).toBe(0);
    await expect(inTenancy(async () => undefined)).rejects.toThrow(/secretstore discard ENV for each environment/);
    expect(await run((out) => discardSecrets(settings, 'eu-1', out))).toMatch(/secrets of eu-1 are removed/);
    await expect(discardSecrets(settings, 'eu-1', captureOutput())).rejects.toThrow(/has no secrets of eu-1/);
    await inTenancy(async ({ secretstore }) => {
      expect(await secretstore.listSecrets('eu-1')).toEqual([]);
      await secretstore.writeSecret({ env: 'eu-1', key: 'db', data: { password: 'y' } });
    });
    expect(await password()).toBe('y');
  });
});

describe('keys rewrap', () => {
  const files = () => readdirSync(dirname(settings.key_file)).filter((name) => /^key-/.test(name));

  it('encrypts everything in the store with a new key file, and keeps the old one for earlier backups', async () => {
    const seal = createSealer(readFileSync(settings.key_file));
    const [id, file] = ['w-1', join(tempDir(), 'backup')];
    const [url, secret] = ['https://hook.example', 'whsec_x'];
    await inStore(settings, (store) =>
      insertWebhook(store, {
        ...{
          id,
          name: 'chat',
          env: null,
          format: 'standard',
          brief: 0,
          events: '[]',
          origin: url,
          created_at: 1,
          created_by: 'ann',
        },
        ...{
          sealed_url: seal.seal(sealedNames(id).url, url),
          sealed_secret: seal.seal(sealedNames(id).secret, secret),
        },
        ...{
          sealed_previous_secret: null,
          previous_until: null,
          paused_until: 0,
          failures: 0,
          claimed_until: 0,
          error: null,
        },
      }),
    );
    const certificate = { host: 'tenancy.example', now: Date.now() };
    const own = await inStore(settings, (store) => ownIdentity({ store, sealer: seal, ...certificate }));
    await run((out) => backup(settings, file, out));
    const before = readFileSync(settings.key_file);
    const said = await run((out) => rewrap(settings, out));
    const previous = /(\S+\.before-\S+) is the previous one/.exec(said)![1]!;
    expect([statSync(settings.key_file).mode & 0o777, readFileSync(previous)]).toEqual([0o600, before]);
    expect(files()).toHaveLength(2);
    await inTenancy(async ({ keys, clock, sealer, store }) => {
      expect(keys().signer(clock()).kid).toMatch(/./);
      const row = await store.selectFrom('webhooks').selectAll().executeTakeFirstOrThrow();
      expect(sealer.unseal(sealedNames(id).url, row.sealed_url)).toBe(url);
      expect(sealer.unseal(sealedNames(id).secret, row.sealed_secret)).toBe(secret);
      expect(await ownIdentity({ store, sealer, ...certificate })).toEqual(own);
    });
    expect(await password()).toBe('x');
    await expect(password(settings, previous)).rejects.toThrow(/cannot be decrypted/);
  });

  it('is finished by the next run after an interruption at its end', async () => {
    await run((out) => rewrap(settings, out));
    const previous = files().find((name) => name.includes('.before-'))!;
    const place = dirname(settings.key_file);
    renameSync(settings.key_file, `${settings.key_file}.next`);
    renameSync(join(place, previous), settings.key_file);
    await expect(inTenancy(async () => undefined)).rejects.toThrow(KeyError);
    await run((out) => rewrap(settings, out));
    expect(await password()).toBe('x');
  });

  it('refuses a wrong key file, and runs only while no instance serves', async () => {
    const release = lockStore(settings);
    await expect(rewrap(settings, captureOutput())).rejects.toThrow(/another process serves/);
    release();
    const right = readFileSync(settings.key_file);
    writeFileSync(settings.key_file, randomBytes(32));
    await expect(rewrap(settings, captureOutput())).rejects.toThrow(KeyError);
    writeFileSync(settings.key_file, right);
    expect(await password()).toBe('x');
  });
});

it('a destroyed value can be read from an earlier backup only with the key file of that time', async () => {
  const file = join(tempDir(), 'backup');
  await run((out) => backup(settings, file, out));
  await inStore(settings, (store) => {
    const records = { store, keyFile: readFileSync(settings.key_file), clock: Date.now };
    return changeVersions(records, { env: 'eu-1', key: 'db' }, { act: 'destroy', versions: [1] });
  });
  await run((out) => rewrap(settings, out));
  const dir = tempDir();
  writeFileSync(join(dir, 'store.sqlite'), readFileSync(file));
  const earlier = { ...settings, state_dir: dir };
  await expect(password(earlier, settings.key_file)).rejects.toThrow(/cannot be decrypted/);
  const previous = readdirSync(dirname(settings.key_file)).find((name) => name.includes('.before-'))!;
  expect(await password(earlier, join(dirname(settings.key_file), previous))).toBe('x');
});
