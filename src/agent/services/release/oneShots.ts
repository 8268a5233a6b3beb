import { Fault } from '../../../../machines/fault.ts';
import type { Bundle } from '../../../../machines/types.ts';
import {
  serviceDefinitionsOf,
  unchangedOneShots,
  type OneShot,
  type ServiceFingerprint,
} from '../../rules/release/oneShots.ts';
import type { Dependencies } from '../dependencies.ts';
import { loadKeyedDigest } from './keyedDigest.ts';

/** Records a fingerprint of each service. The model contains secrets, so only keyed digests are kept. */
export async function recordServiceDefinitions(
  deps: Dependencies,
  { sha, dir }: Bundle,
  model: unknown,
): Promise<void> {
  const digest = await loadKeyedDigest(deps);
  const services = [...serviceDefinitionsOf(model, dir)].map(([service, { text, ...definition }]) => {
    return [service, { ...definition, fingerprint: digest.of(text) }] as const;
  });
  deps.tick.serviceDefinitions = { sha, services: new Map(services) };
}

/**
 * One-shots that need not run in the rendered release: they finished in the applied release, or in an earlier attempt of this
 * one, and neither their definition nor their mounted content (by the labels of the override) changed.
 */
export async function oneShotsToSkip(deps: Dependencies, sha: string, override: string): Promise<OneShot[]> {
  const { releases, state, tick } = deps;
  const { applied_sha, attempt, failing } = state.state;
  if (tick.serviceDefinitions?.sha !== sha) return [];
  const labels = labelsIn(override);
  const services = [...tick.serviceDefinitions.services].map(([service, definition]): [string, ServiceFingerprint] => {
    return [service, { ...definition, fingerprint: `${definition.fingerprint}-${labels.get(service) ?? ''}` }];
  });
  tick.serviceDefinitions = { sha, services: new Map(services) };
  const isOwn = [applied_sha ?? sha, attempt?.sha, failing?.sha].includes(sha);
  const shas = [...(applied_sha === null ? [] : [applied_sha]), ...(isOwn ? [sha] : [])];
  const records = await Promise.all(shas.map((each) => releases.readRecord(each)));
  return unchangedOneShots(
    tick.serviceDefinitions.services,
    records.flatMap((record) => record?.jobs ?? []),
  );
}

/** Records the finished one-shots of a failed bundle, so that its retry does not run them again. */
export async function recordFinishedOneShots(deps: Dependencies, sha: string): Promise<void> {
  try {
    const record = await deps.releases.readRecord(sha);
    if (record !== null)
      await deps.releases.writeRecord(sha, { ...record, jobs: await deps.orchestrator.finishedOneShots(record) });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    deps.tick.journal.warn(`jobs of ${sha} may run again: ${error.message}`);
  }
}

/** Clears the finished one-shots of a release after a down, so that they run again. */
export async function resetOneShots({ releases }: Dependencies, sha: string): Promise<void> {
  const record = await releases.readRecord(sha);
  if (record?.jobs?.length || record?.ended?.length)
    await releases.writeRecord(sha, { ...record, jobs: [], ended: [] });
}

function labelsIn(override: string): Map<string, string> {
  const { services } = JSON.parse(override) as { services: Record<string, { labels?: Record<string, string> }> };
  return new Map(Object.entries(services).map(([service, { labels }]) => [service, JSON.stringify(labels ?? {})]));
}
