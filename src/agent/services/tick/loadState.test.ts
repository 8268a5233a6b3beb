import { tempDir } from '../../../../fixtures/tempDir.ts';
import { writeHold } from '../../adapters/state/holdFile.ts';
import { Vault } from '../../secrets/vault.ts';
import { loadState } from './loadState.ts';
import type { Dependencies } from '../dependencies.ts';

it('treats an unusable token as a secret that the redactor does not know', async () => {
  const sweeps: boolean[] = [];
  const vault = new Vault((tokenAlone) => void sweeps.push(tokenAlone));
  const credentials = {
    warnings: async () => [],
    readToken: async () => {
      throw new Error('holds more than one word');
    },
  };
  const emptyState = { last_check_in: null, applied_sha: null, attempt: null };
  const deps = {
    vault,
    credentials,
    settings: { state_dir: '/nowhere' },
    tick: {},
    state: { state: emptyState, load: async () => emptyState },
    compose: { terminateOrphans: async () => false },
    releases: { current: { inspect: async () => ({ sha: null, isForeign: false }) }, removeLeftovers: async () => [] },
    stop: new AbortController(),
  } as unknown as Dependencies;
  await expect(loadState(deps)).rejects.toThrow('more than one word');
  vault.clear();
  expect(sweeps).toEqual([false]);
});

it('restores the backup of a release whose rendering a crash interrupted, under a hold too', async () => {
  const sha = 'a'.repeat(64);
  let restored = false;
  const [state_dir, tick] = [tempDir(), { hold: null }];
  await writeHold(state_dir, { until: '2100-01-01T00:00:00.000Z', reason: 'disk swap' });
  const emptyState = { last_check_in: null, applied_sha: sha, attempt: null, token: {} };
  const deps = {
    vault: new Vault(),
    credentials: { warnings: async () => [], readToken: async () => null, hasGrant: async () => false },
    settings: { bootstrap_file: '/nowhere', state_dir },
    tick,
    state: { state: emptyState, load: async () => emptyState },
    compose: { terminateOrphans: async () => false },
    releases: {
      isComplete: async () => restored,
      restoreBackup: async () => void (restored = true),
      current: { inspect: async () => ({ sha, isForeign: false }) },
      removeLeftovers: async () => [],
    },
    stop: new AbortController(),
  } as unknown as Dependencies;
  expect(await loadState(deps)).toMatchObject({ hasToken: false });
  expect(restored).toBe(true);
  expect(tick.hold).toMatchObject({ reason: 'disk swap' });
});
