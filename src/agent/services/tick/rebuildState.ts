import type { Releases } from '../../adapters/release/releases.ts';
import { productionOf } from '../../rules/release/volumeRule.ts';
import type { State } from '../../rules/state/state.ts';

/**
 * State of a host whose state.json was lost, from `current` and the release records (spec §17). The attempt of phase `unknown`
 * makes the next tick verify the release.
 */
export async function rebuildState(releases: Releases): Promise<Partial<State>> {
  const { sha } = await releases.current.inspect();
  const record = sha === null ? null : await releases.readRecord(sha);
  const { productionOfReleases } = await import('../release/production.ts');
  const production = productionOf(await productionOfReleases(releases));
  const all = await Promise.all((await releases.list()).map((each) => releases.readRecord(each)));
  return {
    applied_sha: record ? sha : null,
    attempt: record ? { sha: record.sha, phase: 'unknown', at: new Date().toISOString() } : null,
    applied_version: record?.version ?? null,
    applied_signers: record?.signers ?? [],
    applied_images: record?.verified_images ?? [],
    highest_sequence: Math.max(0, ...all.map((each) => each?.sequence ?? 0)),
    production: production === true,
    production_unknown: production === null,
  };
}
