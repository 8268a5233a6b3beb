import { Vault } from '../../secrets/vault.ts';
import { recall } from './recall.ts';
import type { Tools } from '../tools.ts';

it('notes a token that cannot be used, of which nothing is guarded', async () => {
  const heard: boolean[] = [];
  const vault = new Vault((tokenAlone) => void heard.push(tokenAlone));
  const credentials = {
    warnings: async () => [],
    readToken: async () => {
      throw new Error('holds more than one word');
    },
  };
  const nothing = { last_check_in: null, applied_sha: null, attempt: null };
  const tools = {
    vault,
    credentials,
    state: { state: nothing, load: async () => nothing },
    compose: { sweep: async () => false },
    releases: { current: { look: async () => ({ sha: null, isForeign: false }) }, sweep: async () => [] },
    stop: new AbortController(),
  } as unknown as Tools;
  await expect(recall(tools)).rejects.toThrow('more than one word');
  vault.forget();
  expect(heard).toEqual([false]);
});

it('takes back the files that last served of a release that a crash left half rendered', async () => {
  const sha = 'a'.repeat(64);
  let restored = false;
  const nothing = { last_check_in: null, applied_sha: sha, attempt: null, token: {} };
  const tools = {
    vault: new Vault(),
    credentials: { warnings: async () => [], readToken: async () => null, hasGrant: async () => false },
    settings: { bootstrap_file: '/nowhere' },
    state: { state: nothing, load: async () => nothing },
    compose: { sweep: async () => false },
    releases: {
      isWhole: async () => restored,
      restoreLastGood: async () => void (restored = true),
      current: { look: async () => ({ sha, isForeign: false }) },
      sweep: async () => [],
    },
    stop: new AbortController(),
  } as unknown as Tools;
  expect(await recall(tools)).toMatchObject({ token: false });
  expect(restored).toBe(true);
});
