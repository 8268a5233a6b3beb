import { once } from 'node:events';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { startStubEngine, type StubEngine } from '../../../fixtures/world/network/stubEngine.ts';
import { tempDir } from '../../../fixtures/world/tempDir.ts';
import { defaultPolicy } from '../../api/hostPolicy.rules.ts';
import { writeHold } from '../checkIn/hold.ts';
import type { Settings } from '../config/configKeys.ts';
import { Vault } from '../secrets/vault.ts';
import { emptyState } from '../state/state.rules.ts';
import { status } from './status.ts';

let engine: StubEngine;
beforeAll(async () => void (engine = await startStubEngine(tempDir())));
afterAll(() => engine.stop());

let dir: string;
let results: string[];
let warnings: string[];
beforeEach(async () => {
  dir = tempDir();
  [results, warnings] = [[], []];
});

it('exits 1 on a new host and says that the token is absent', async () => {
  expect(await run()).toBe(1);
  expect(results[0]?.split('\n').slice(0, 2)).toEqual(['token ABSENT', 'not in sync: no check-in yet']);
  expect(await readdir(dir)).toEqual([]);
});

it('exits 0 on a host that is in sync', async () => {
  await writeSyncedState();
  expect(await run()).toBe(0);
  expect(results[0]?.split('\n')[0]).toBe('in sync: nothing is to run here');
});

it('prints the same as JSON', async () => {
  await writeSyncedState();
  expect(await run(true)).toBe(0);
  expect(JSON.parse(results.join('\n'))).toMatchObject({
    version: '0.2.0',
    env: 'eu-1',
    token: 'present',
    in_sync: true,
    lock: { held: false, pid: null, since: null },
    pending_reports: 0,
  });
  expect(warnings).toEqual([]);
});

it.each([true, false])('reports a corrupt state and does not change it (json: %s)', async (json) => {
  await writeSyncedState();
  await writeFile(join(dir, 'state.json'), '{');
  const before = await readdir(dir);
  expect(await run(json)).toBe(1);
  expect((json ? warnings : results).join('\n')).toMatch(/^STATE_CORRUPT: state\.json is not a JSON object/);
  expect(await readdir(dir)).toEqual(before);
});

it('is not in sync with the state of another env', async () => {
  await writeSyncedState('eu-2');
  expect(await run()).toBe(1);
});

it('shows the current hold, or why it could not be read', async () => {
  await writeSyncedState();
  await writeHold(dir, { until: '2100-01-01T00:00:00.000Z', reason: 'disk swap' });
  expect(await run(true)).toBe(0);
  expect(JSON.parse(results.pop() ?? '')).toMatchObject({ hold: { reason: 'disk swap' } });
  await rm(join(dir, 'hold.json'));
  await mkdir(join(dir, 'hold.json'));
  expect(await run(true)).toBe(0);
  expect(warnings.join('\n')).toContain('hold.json');
});

it('warns about a token that others may read', async () => {
  await writeSyncedState();
  await rm(join(dir, 'store.token'));
  await writeFile(join(dir, 'store.token'), 's.abc', { mode: 0o644 });
  expect(await run(true)).toBe(0);
  expect(warnings[0]).toContain('store.token may be used by others');
});

it('counts an unusable token as absent, and says why', async () => {
  await writeSyncedState();
  await writeFile(join(dir, 'store.token'), 'two words');
  expect(await run(true)).toBe(1);
  expect(warnings[0]).toContain('CREDENTIAL_UNUSABLE');
});

it('reports unknown health if the engine is unavailable', async () => {
  await writeSyncedState();
  const socket = join(dir, 'engine.sock');
  expect(await run(false, { container_host: `unix://${socket}` })).toBe(1);
  expect(results[0]?.split('\n')[0]).toBe(
    `unknown: container engine at unix://${socket}: no such socket; is the engine installed and running?`,
  );
});

it('gives up on an engine that accepts calls and does not answer', async () => {
  await writeSyncedState();
  const socket = join(dir, 'engine.sock');
  const server = createServer().listen(socket);
  await once(server, 'listening');
  expect(await run(true, { container_host: `unix://${socket}` }, 50)).toBe(1);
  server.close();
  expect(JSON.parse(results.join('\n'))).toMatchObject({
    ...{ in_sync: false, health: 'unknown' },
    out_of_sync_reason: expect.stringContaining(' does not answer within 0.05 s; check it with docker ps') as string,
  });
});

it('is not in sync after an old check-in', async () => {
  await writeSyncedState('eu-1', '2026-01-01T00:00:00.000Z');
  expect(await run()).toBe(1);
  expect(results[0]).toMatch(
    /^not in sync: the last check-in was \d+ days ago, longer than three intervals \(180 s\)\n/,
  );
});

async function writeSyncedState(env = 'eu-1', at = new Date().toISOString()): Promise<void> {
  await writeFile(join(dir, 'store.token'), 's.abc', { mode: 0o600 });
  const state = { ...emptyState(env), last_check_in: { at, action: 'none', desired_sha: null } };
  await writeFile(join(dir, 'state.json'), JSON.stringify(state));
}

function run(json = false, changes: Partial<Settings> = {}, lookMs = 10_000): Promise<number> {
  const settings = {
    env: 'eu-1',
    site: 'berlin',
    transport: 'sdk',
    laptop_mode: false,
    interval_s: 60,
    settle_s: 10,
    orchestrator: 'compose',
    ...engine.config,
    state_dir: dir,
    bootstrap_file: join(dir, 'jwt'),
  };
  const out = { log: (line: string) => void results.push(line), error: (line: string) => void warnings.push(line) };
  const unset = { apply: { windows: [] }, policy: defaultPolicy, trust: { bundles: null, images: null } };
  const options = { json, version: '0.2.0', vault: new Vault(() => undefined), lookMs };
  return status({ ...settings, ...unset, ...changes } as unknown as Settings, options, out);
}
