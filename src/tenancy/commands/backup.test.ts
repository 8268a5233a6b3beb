import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type CapturedOutput,
  captureOutput,
  initialize,
  inStore,
  settingsBelow,
} from '../../../fixtures/world/tenancy/installation.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { isAccepted } from '../agents/agents.ts';
import { GENERATION_GAP, SEQUENCE_GAP } from '../backends/restore.ts';
import { backup, restore } from './backup.ts';
import { findAgent } from '../store/agents.ts';
import { findOperator, listAuditEntries, listOperators } from '../store/people.ts';
import { applyEvent, createBackend, findBackend } from '../store/backends.ts';
import { findSigners, insertBundle, insertSignature, listSignatures } from '../store/bundles.ts';
import {
  createEnv,
  doomSecrets,
  findBundleTrust,
  findEnv,
  markEnvDeleted,
  reserveSequence,
  setBundleTrust,
  setDesiredSha,
} from '../store/envs.ts';
import { storeFileOf, takeInstanceLock } from './storeAccess.ts';
import type { Store } from '../store/openStore.ts';
import { addPendingSteps, listPendingSteps } from '../store/pendingSteps.ts';
import { findRollout, insertRollout } from '../store/rollouts.ts';
import { listSigningKeys } from '../keys/keyRing.ts';
import { admin } from './store.ts';
import { digestOfToken } from '../people/authenticate.ts';

let dir: string;
let settings: TenancySettings;
let file: string;
let token: string;
beforeEach(async () => {
  dir = tempDir();
  settings = settingsBelow(dir);
  file = join(tempDir(), 'backup');
  token = await initialize(settings);
});

const server = { env: 'eu-1', site: 'fra', laptop: false, transport: 'system' } as const;
const now = Date.now();

async function backUp(): Promise<CapturedOutput> {
  const output = captureOutput();
  expect(await backup(settings, file, output)).toBe(0);
  return output;
}

async function restoreBackup(from: string | undefined = file): Promise<CapturedOutput> {
  const output = captureOutput();
  expect(await restore(settings, from, output)).toBe(0);
  return output;
}

const isKnown = async (bearer: string) =>
  (await inStore(settings, (store) => findOperator(store, digestOfToken(bearer)!, Date.now()))) !== null;
const accepts = (id: string, generation: number) =>
  inStore(settings, async (store) =>
    isAccepted({ backend: (await findAgent(store, id))!, token: { generation, env: 'eu-1' } }, 'check-in'),
  );
const reveal = (id: string) =>
  inStore(settings, (store) => applyEvent(store, id, { event: { type: 'REVEAL_KIT' }, now }));

describe('backup', () => {
  it('writes one file with mode 0600, consistent while the store is being written', async () => {
    const output = await inStore(settings, async (store) => {
      const before = Array.from({ length: 50 }, (_, index) => createEnv(store, `before-${index}`, false));
      await Promise.all(before);
      const during = Array.from({ length: 50 }, (_, index) => createEnv(store, `during-${index}`, false));
      const made = await backUp();
      await Promise.all(during);
      return made;
    });
    expect(statSync(file).mode).toBe(0o100600);
    expect(readdirSync(join(file, '..'))).toEqual(['backup']);
    expect(output.out.join('\n')).toMatch(/bundles: the directory .*bundles.*\n.*key file .*key-/);
    await restoreBackup();
    expect(await inStore(settings, (store) => findEnv(store, 'before-49'))).not.toBeNull();
  });

  it('never overwrites a file', async () => {
    writeFileSync(file, 'mine');
    await expect(backUp()).rejects.toThrow(`${file} exists: name a new file`);
    expect(readFileSync(file, 'utf8')).toBe('mine');
    expect(readdirSync(join(file, '..'))).toEqual(['backup']);
  });

  it('names the tools for a PostgreSQL store', async () => {
    const onPostgres = { ...settings, database_url_file: '/etc/url' };
    await expect(backup(onPostgres, file, captureOutput())).rejects.toThrow(
      /\/etc\/url names.*pg_dump --format=custom/,
    );
  });

  it('contains neither the key file nor the token', async () => {
    await backUp();
    const text = readFileSync(file);
    expect(text.includes(readFileSync(settings.key_file))).toBe(false);
    expect(text.includes(token)).toBe(false);
  });
});

describe('restore', () => {
  it('halts rollouts, because hosts may have advanced since the backup', async () => {
    const plan = JSON.stringify({ waves: [{}], max_failures: 0, soak_s: 0, gate: 'none', windows: [] });
    const facts = {
      sha256: '1'.repeat(64),
      previous_sha: null,
      halted_by: null,
      waiting_told: null,
      wave_started_at: now,
      plan,
      progress: '{}',
    };
    const gate = { gate_due_at: null, gate_tries: 0, gate_reason: null };
    const started = { state: 'updating', state_since: now, started: 1, created_at: now, created_by: 'ann' } as const;
    await inStore(settings, async (store) => {
      await createEnv(store, 'eu-1', false);
      await insertRollout(store, { id: 'r-1', env: 'eu-1', ...facts, ...gate, ...started });
    });
    await backUp();
    expect((await restoreBackup()).err.join('\n')).toContain('environment eu-1: its rollout is halted');
    const row = await inStore(settings, (store) => findRollout(store, 'r-1'));
    expect(row).toMatchObject({ state: 'halted', halted_by: 'restore' });
    const audit = await inStore(settings, (store) => listAuditEntries(store, { envs: ['eu-1'], limit: 9 }));
    expect(audit).toMatchObject([{ act: 'env.hold' }, { act: 'rollout.halt', target: 'r-1' }]);
  });

  it('never reuses a sequence, whatever was assigned after the backup', async () => {
    const given = await inStore(settings, async (store) => {
      await createEnv(store, 'eu-1', false);
      const first = await reserveSequence(store, 'eu-1');
      await backUp();
      return [first, await reserveSequence(store, 'eu-1'), await reserveSequence(store, 'eu-1')];
    });
    await restoreBackup();
    const next = await inStore(settings, (store) => reserveSequence(store, 'eu-1'));
    expect(given).toEqual([1, 2, 3]);
    expect(next).toBe(1 + SEQUENCE_GAP + 1);
  });

  it('holds every environment, and says how to continue', async () => {
    await inStore(settings, (store) => createEnv(store, 'eu-1', false));
    await backUp();
    expect((await restoreBackup()).err.join('\n')).toMatch(/every environment is held.*\n.*deployctl restore review/);
    expect((await inStore(settings, (store) => findEnv(store, 'eu-1')))!.held_since).toBeGreaterThan(0);
  });

  it('keeps hosts, even with a kit from after the backup, and never reuses a generation', async () => {
    const id = await inStore(settings, async (store) => {
      await createEnv(store, 'eu-1', false);
      return createBackend(store, server, now);
    });
    await reveal(id);
    await backUp();
    await reveal(id);
    expect([await accepts(id, 1), await accepts(id, 2)]).toEqual([false, true]);
    await restoreBackup();
    expect([await accepts(id, 0), await accepts(id, 1), await accepts(id, 2)]).toEqual([false, true, true]);
    expect(await reveal(id)).toMatchObject({ generation: 1 + GENERATION_GAP + 1 });
    expect([await accepts(id, 2), await accepts(id, 1 + GENERATION_GAP)]).toEqual([false, false]);
    expect(await accepts(id, 1 + GENERATION_GAP + 1)).toBe(true);
  });

  it('keeps the signatures of bundles and the trusted signers of hosts', async () => {
    const sha256 = 'a'.repeat(64);
    const trust = { threshold: 1, keys: ['pem'], identities: [], root: null };
    const read = (store: Store) =>
      Promise.all([findBundleTrust(store, 'eu-1'), findSigners(store, [sha256]), listSignatures(store, sha256)]);
    const before = await inStore(settings, async (store) => {
      await createEnv(store, 'eu-1', false);
      const flags = { production: 0, allow_privileged: 0, allow_rollback: 0, emergency: 0 };
      const names = { sha256, env: 'eu-1', name: 'shop', version: '1', sequence: 1, size_bytes: 1, replaces: null };
      const origin = { received_at: now, received_from: 'ann' };
      await store.transaction().execute((work) => insertBundle(work, { ...names, ...flags, ...origin }));
      await insertSignature(store, { bundle_sha256: sha256, sha256: 'b', signer: 'ann', body: '{}', ...origin });
      await setBundleTrust(store, 'eu-1', trust);
      return read(store);
    });
    await backUp();
    await restoreBackup();
    expect(before).toMatchObject([trust, new Map([[sha256, ['ann']]]), [{ body: '{}' }]]);
    expect(await inStore(settings, read)).toEqual(before);
  });

  it('revokes earlier signing keys and all operator tokens except a new one', async () => {
    const output = captureOutput();
    await admin(settings, 'revoked later', output);
    const [old] = await inStore(settings, listSigningKeys);
    await backUp();
    const restored = await restoreBackup();
    const keys = await inStore(settings, listSigningKeys);
    expect(keys).toHaveLength(1);
    expect(keys[0]!.kid).not.toBe(old!.kid);
    expect([await isKnown(token), await isKnown(output.out[0]!)]).toEqual([false, false]);
    expect(await isKnown(restored.out.join())).toBe(true);
    expect(await inStore(settings, (store) => listOperators(store, Date.now()))).toMatchObject([
      { name: 'admin', role: 'admin', envs: null },
    ]);
    expect(restored.err.join('\n')).toContain("2 operators' tokens are revoked");
  });

  it('does not destroy secrets for a retirement or deletion recorded in the backup', async () => {
    const id = await inStore(settings, async (store) => {
      await createEnv(store, 'eu-1', false);
      await createEnv(store, 'gone', false);
      await setDesiredSha(store, 'eu-1', 'a'.repeat(64), { since: 0 });
      await markEnvDeleted(store, 'gone', now);
      await addPendingSteps(store, 'gone', { steps: ['destroyEnvSecrets'], dueAt: now });
      const backend = await createBackend(store, server, now);
      await applyEvent(store, backend, { event: { type: 'RETIRE', force: false, purgeVolumes: false }, now });
      await doomSecrets(store, (await findEnv(store, 'eu-1'))!, now);
      return backend;
    });
    await backUp();
    const { err } = await restoreBackup();
    const steps = await inStore(settings, (store) => listPendingSteps(store, id));
    expect(steps.map(({ step }) => step)).toEqual(['deleteIdentity', 'revokeToken']);
    expect(await inStore(settings, (store) => listPendingSteps(store, 'gone'))).toEqual([]);
    expect(await inStore(settings, (store) => findEnv(store, 'eu-1'))).toMatchObject({ secrets_destroy_at: null });
    expect(JSON.parse((await inStore(settings, (store) => findBackend(store, id)))!.finished)).toEqual([
      'destroySecrets',
    ]);
    const told = err.join('\n');
    expect(told).toMatch(/environment eu-1: its secrets were due to be destroyed[^]*environment gone: its secrets/);
    expect(told).toContain(`environment eu-1: the desired bundle is ${'a'.repeat(64)}`);
    const audit = await inStore(settings, (store) => listAuditEntries(store, { envs: null, limit: 9 }));
    expect(audit.map(({ act }) => act)).toEqual([
      'service.restore',
      'env.hold',
      'env.spareSecrets',
      'env.spareSecrets',
      'service.init',
    ]);
  });

  it('keeps only the replaced store', async () => {
    await backUp();
    await inStore(settings, (store) => createEnv(store, 'after', false));
    await restoreBackup();
    const kept = readdirSync(dir).find((name) => name.includes('before-restore'))!;
    expect(readdirSync(dir).toSorted()).toEqual(
      ['serving.lock', 'store.sqlite', kept, settings.key_file.slice(dir.length + 1)].toSorted(),
    );
    await restoreBackup(join(dir, kept));
    expect(await inStore(settings, (store) => findEnv(store, 'after'))).not.toBeNull();
  });

  it('replaces a store that is missing or destroyed, with a new key file if that is missing too', async () => {
    await backUp();
    writeFileSync(storeFileOf(settings), 'x'.repeat(5000));
    settings = { ...settings, key_file: join(dir, 'new key') };
    await restoreBackup();
    expect(statSync(settings.key_file).size).toBe(32);
    expect(await inStore(settings, (store) => listOperators(store, Date.now()))).toHaveLength(1);
  });

  it('secures a store that was restored by other means', async () => {
    await inStore(settings, (store) => createEnv(store, 'eu-1', false));
    const output = captureOutput();
    expect(await restore(settings, undefined, output)).toBe(0);
    expect(await inStore(settings, (store) => findEnv(store, 'eu-1'))).toMatchObject({ last_sequence: SEQUENCE_GAP });
    expect(await isKnown(token)).toBe(false);
  });

  it.each([
    ['is damaged', () => writeFileSync(file, 'x'.repeat(5000)), /not a sound backup: file is not a database/],
    ['is empty', () => writeFileSync(file, ''), /there is no store yet/],
    ['is missing', () => undefined, /ENOENT/],
  ])('changes nothing if the backup %s', async (_how, make, told) => {
    make();
    const before = readdirSync(dir).concat('serving.lock').toSorted();
    await expect(restoreBackup()).rejects.toThrow(told);
    expect(readdirSync(dir).toSorted()).toEqual(before);
    expect(await isKnown(token)).toBe(true);
  });

  it('refuses to run while an instance is serving', async () => {
    await backUp();
    const release = takeInstanceLock(join(dir, 'serving.lock'))!;
    await expect(restoreBackup()).rejects.toThrow(`another process serves from ${dir}: stop it first`);
    release();
    await restoreBackup();
  });
});
