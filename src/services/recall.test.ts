import { Vault } from '../secrets/vault.ts';
import { recall } from './recall.ts';
import type { Tools } from './tools.ts';

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
