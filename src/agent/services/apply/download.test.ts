import type { Orders } from '../../../../machines/words.ts';
import type { Tools } from '../tools.ts';
import { download } from './download.ts';

const sha = 'a'.repeat(64);
const orders = { desiredSha: sha, sizeBytes: 1 } as Orders;
const never = new AbortController().signal;

/** What a download works with, told what becomes of compose. */
function toolsWith(probe: Tools['compose']['probe']): Tools {
  const releases = { bundleOf: () => '/nowhere/bundle', partOf: () => '/nowhere/part' };
  const tools = { note: () => undefined, releases, tick: {}, stop: new AbortController() };
  return { ...tools, download: async () => undefined, compose: { probe } } as unknown as Tools;
}

describe('the look for compose beside a download', () => {
  it('is not waited for', async () => {
    await download(
      toolsWith(() => new Promise(() => undefined)),
      { orders },
      never,
    );
  });

  it('fails no download', async () => {
    await download(
      toolsWith(() => Promise.reject(new Error('no compose'))),
      { orders },
      never,
    );
  });

  it('goes on when the download is over, and ends at STOP', async () => {
    let heard: AbortSignal = never;
    const probe = (signal: AbortSignal) => new Promise<never>(() => void (heard = signal));
    const tools = toolsWith(probe);
    const state = new AbortController();
    await download(tools, { orders }, state.signal);
    state.abort();
    expect(heard.aborted).toBe(false);
    tools.stop.abort();
    expect(heard.aborted).toBe(true);
  });
});
