import type { DesiredState } from '../../../machines/types.ts';
import { download, type UnpackDependencies } from './obtainBundle.ts';

const sha = 'a'.repeat(64);
const desired = { desiredSha: sha, sizeBytes: 1 } as DesiredState;
const never = new AbortController().signal;

/** Dependencies of a download, with this compose probe. */
function depsWith(probe: UnpackDependencies['compose']['probe']): UnpackDependencies {
  const releases = { bundleOf: () => '/nowhere/bundle', partialFileOf: () => '/nowhere/part' };
  const deps = { recordDecision: () => undefined, releases, tick: { journal: {} }, stop: new AbortController() };
  return { ...deps, download: async () => undefined, compose: { probe } } as unknown as UnpackDependencies;
}

describe('the compose probe during a download', () => {
  it('does not delay the download', async () => {
    await download(
      depsWith(() => new Promise(() => undefined)),
      { desired },
      never,
    );
  });

  it('does not fail the download', async () => {
    await download(
      depsWith(() => Promise.reject(new Error('no compose'))),
      { desired },
      never,
    );
  });

  it('continues after the download and ends at STOP', async () => {
    let probeSignal: AbortSignal = never;
    const probe = (signal: AbortSignal) => new Promise<never>(() => void (probeSignal = signal));
    const deps = depsWith(probe);
    const state = new AbortController();
    await download(deps, { desired }, state.signal);
    state.abort();
    expect(probeSignal.aborted).toBe(false);
    deps.stop.abort();
    expect(probeSignal.aborted).toBe(true);
  });
});
