import { readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createLocalJWKSet, jwtVerify } from 'jose';
import { Migrator } from 'kysely/migration';
import { captureOutput, initialize, inStore, settingsBelow } from '../../../fixtures/world/tenancy/installation.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { listSigningKeys, openKeyRing, PUBLISHED_AHEAD_MS, signGrant } from '../keys/keyRing.ts';
import { findOperator, listAuditEntries, listOperators } from '../store/people.ts';
import { migrations } from '../store/migrations.ts';
import { admin, init, migrate, rotateKeys } from './store.ts';
import { CommandError, readKeyFile, storeFileOf } from './storeAccess.ts';
import { digestOfToken } from '../people/authenticate.ts';

let settings: TenancySettings;
beforeEach(() => void (settings = settingsBelow(tempDir())));

const grant = async () =>
  inStore(settings, async (store) => {
    const keys = await openKeyRing(store, readKeyFile(settings.key_file));
    const terms = { issuer: 'i', audience: 'a', lifetimeS: 60, now: Date.now() };
    const { jwt } = await signGrant(keys, { id: 'b', env: 'e', generation: 1 }, terms);
    return (await jwtVerify(jwt, createLocalJWKSet(keys.jwks()))).protectedHeader.kid;
  });

describe('init', () => {
  it('creates the key file, store, signing key and an administrator, and prints only the token to stdout', async () => {
    const output = captureOutput();
    expect(await init(settings, output)).toBe(0);
    expect(output.out).toEqual([expect.stringMatching(/^dpo_[\w-]{43}$/)]);
    expect(output.err.join('\n')).not.toContain(output.out[0]);
    expect(statSync(settings.key_file)).toMatchObject({ size: 32, mode: 0o100600 });
    const operator = await inStore(settings, (store) =>
      findOperator(store, digestOfToken(output.out[0]!)!, Date.now()),
    );
    expect(operator).toMatchObject({ name: 'admin', role: 'admin', envs: null });
    expect(await grant()).toBeDefined();
    const audit = await inStore(settings, (store) => listAuditEntries(store, { envs: null, limit: 9 }));
    expect(audit).toMatchObject([{ actor: 'deployd-tenancy', act: 'service.init', result: 'ok' }]);
  });

  it('refuses a second run, and changes nothing', async () => {
    const token = await initialize(settings);
    const kid = await grant();
    const again = captureOutput();
    await expect(init(settings, again)).rejects.toThrow(/already initialized.*copy of .*key.*admin NAME/);
    rmSync(settings.key_file);
    await expect(init(settings, again)).rejects.toThrow(CommandError);
    expect(() => statSync(settings.key_file)).toThrow('ENOENT');
    expect(again.out).toEqual([]);
    expect((await inStore(settings, (store) => findOperator(store, digestOfToken(token)!, Date.now())))?.name).toBe(
      'admin',
    );
    expect(await inStore(settings, listSigningKeys)).toMatchObject([{ kid }]);
  });

  it('finishes a run that was interrupted after the key file or after the tables', async () => {
    writeFileSync(settings.key_file, Buffer.alloc(32, 7), { mode: 0o600 });
    const token = await initialize(settings);
    expect(token).toMatch(/^dpo_/);
    expect(readFileSync(settings.key_file)).toEqual(Buffer.alloc(32, 7));
    expect(await grant()).toBeDefined();
    await inStore(settings, async (store) => {
      await store.deleteFrom('signing_keys').execute();
      await store.deleteFrom('operators').execute();
    });
    expect(await initialize(settings)).toMatch(/^dpo_/);
  });

  it('refuses an invalid key file', async () => {
    writeFileSync(settings.key_file, 'short');
    await expect(initialize(settings)).rejects.toThrow(`${settings.key_file}: must have 32 bytes, and has 5`);
  });
});

describe('admin', () => {
  it('creates an administrator under an unused name', async () => {
    await initialize(settings);
    const output = captureOutput();
    expect(await admin(settings, 'ann', output)).toBe(0);
    const operator = await inStore(settings, (store) =>
      findOperator(store, digestOfToken(output.out[0]!)!, Date.now()),
    );
    expect(operator).toMatchObject({ name: 'ann', role: 'admin', envs: null });
    await expect(admin(settings, 'ann', output)).rejects.toThrow('the name ann is in use by an operator');
    expect(await inStore(settings, (store) => listOperators(store, Date.now()))).toHaveLength(2);
  });
});

describe('keys rotate', () => {
  it('publishes the new key before it signs', async () => {
    await initialize(settings);
    const old = await grant();
    const output = captureOutput();
    const before = Date.now();
    expect(await rotateKeys(settings, { now: false }, output)).toBe(0);
    const keys = await inStore(settings, listSigningKeys);
    expect(keys).toHaveLength(2);
    expect(keys[1]!.active_from).toBeGreaterThanOrEqual(before + PUBLISHED_AHEAD_MS);
    expect(output.out[0]).toContain(`key ${keys[1]!.kid} signs from `);
    expect(await grant()).toBe(old);
  });

  it('lets the new key sign at once with --now', async () => {
    await initialize(settings);
    const old = await grant();
    await rotateKeys(settings, { now: true }, captureOutput());
    expect(await grant()).not.toBe(old);
  });

  it('refuses a different key file, whose keys no instance could use', async () => {
    await initialize(settings);
    writeFileSync(settings.key_file, Buffer.alloc(32));
    await expect(rotateKeys(settings, { now: true }, captureOutput())).rejects.toThrow('the key file is not the one');
    expect(await inStore(settings, listSigningKeys)).toHaveLength(1);
  });
});

describe('a command without an up-to-date store', () => {
  const commands = {
    migrate: () => migrate(settings, captureOutput()),
    admin: () => admin(settings, 'ann', captureOutput()),
  };

  it.each(Object.entries(commands))('%s asks for init, and creates no store', async (_name, command) => {
    await expect(command()).rejects.toThrow('there is no store yet: run sudo deployd-tenancy init');
    expect(() => statSync(storeFileOf(settings))).toThrow('ENOENT');
    writeFileSync(storeFileOf(settings), '');
    await expect(command()).rejects.toThrow('run sudo deployd-tenancy init');
  });

  it('asks for the migration of an older store, and migrate performs it', async () => {
    const pending = Object.keys(migrations).slice(5).join(', ');
    await inStore(settings, async (store) => {
      const migrator = new Migrator({ db: store, provider: { getMigrations: async () => migrations } });
      await migrator.migrateTo('0005-bundle-variables');
    });
    await expect(admin(settings, 'ann', captureOutput())).rejects.toThrow(
      `older version (${pending}): run sudo deployd-tenancy migrate`,
    );
    const output = captureOutput();
    expect(await migrate(settings, output)).toBe(0);
    expect(await migrate(settings, output)).toBe(0);
    expect(output.out).toEqual([`migrated the store: ${pending}`, 'the store is of this version']);
    expect(await admin(settings, 'ann', captureOutput())).toBe(0);
  });

  it('refuses a newer store', async () => {
    await initialize(settings);
    await inStore(settings, (store) =>
      store
        .$extendTables<{ kysely_migration: { name: string; timestamp: string } }>()
        .insertInto('kysely_migration')
        .values({ name: '9999-future', timestamp: 'x' })
        .execute(),
    );
    for (const command of Object.values(commands))
      await expect(command()).rejects.toThrow(/newer version \(9999-future\)/);
    await expect(initialize(settings)).rejects.toThrow(/newer version/);
  });

  it('reports that the store is not a database', async () => {
    writeFileSync(storeFileOf(settings), 'x'.repeat(10_000));
    await expect(commands.admin()).rejects.toThrow('the store cannot be used: file is not a database');
  });
});
