import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempDir } from '../../../fixtures/tempDir.ts';
import { defaultPolicy } from '../../protocol/hostPolicy.ts';
import type { Settings } from '../config/settings.ts';
import { writeHold } from '../adapters/state/holdFile.ts';
import { emptyState } from '../rules/state/state.ts';
import { status } from './status.ts';

const at = '2026-11-21T12:00:00.000Z';
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
  expect((json ? warnings : results).join('\n')).toMatch(/^STATE_CORRUPT: state\.json is no JSON object/);
  expect(await readdir(dir)).toEqual(before);
});

it('is not in sync with the state of another env', async () => {
  await writeSyncedState('eu-2');
  expect(await run()).toBe(1);
});

it('tells the hold that stands, and what it could not read of one', async () => {
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

async function writeSyncedState(env = 'eu-1'): Promise<void> {
  await writeFile(join(dir, 'store.token'), 's.abc', { mode: 0o600 });
  const state = { ...emptyState(env), last_check_in: { at, action: 'none', desired_sha: null } };
  await writeFile(join(dir, 'state.json'), JSON.stringify(state));
}

function run(json = false): Promise<number> {
  const settings = {
    env: 'eu-1',
    site: 'berlin',
    transport: 'sdk',
    laptop_mode: false,
    state_dir: dir,
    bootstrap_file: join(dir, 'jwt'),
  };
  const out = { log: (line: string) => void results.push(line), error: (line: string) => void warnings.push(line) };
  const unset = { apply: { windows: [] }, policy: defaultPolicy, trust: { bundles: null, images: null } };
  return status({ ...settings, ...unset } as unknown as Settings, { json, version: '0.2.0' }, out);
}
