import type { ServiceProblem, Sha } from '../../../../machines/types.ts';
import { Fault } from '../../../../machines/fault.ts';
import { adoptable, describeUnknown, recordOf } from '../../rules/health/drift.ts';
import { contentLabelsOf } from '../../rules/release/contentLabel.ts';
import type { Dependencies } from '../dependencies.ts';
import { composeReleaseOf } from '../release/composeRelease.ts';
import { recordDigests } from './images.ts';

/**
 * Records the containers and volumes of a release that an agent without such records applied: those that are there and match,
 * and the digests of its images. Changes none of them; the others are returned as problems, and healed from the next tick on.
 */
export async function adoptContainers(deps: Dependencies, sha: Sha, signal: AbortSignal): Promise<ServiceProblem[]> {
  const { containers, releases } = deps;
  const record = await releases.readRecord(sha);
  if (record === null) return [];
  const withDigests = await recordDigests(deps, record);
  if (record.containers !== undefined) return [];
  const found = await containers.listStatuses();
  const { hashes, version } = await configurationHashes(deps, sha, signal);
  const contents = contentLabelsOf(await releases.readOverride(sha));
  const { adopted, foreign } = adoptable(found, { record, hashes, composeVersion: version, contents });
  const mounted = new Set(adopted.flatMap(({ created }) => created.volumes.map(({ name }) => name)));
  const { volumes } = await containers.existingVolumes();
  const completed = {
    ...withDigests,
    containers: adopted.map(recordOf),
    volumes: volumes.filter(({ name }) => mounted.has(name)),
  };
  await releases.writeRecord(sha, completed);
  return foreign.map((container) => {
    const detail = describeUnknown(container, completed);
    return { service: container.service, detail, cure: 'none', containers: [container.id], isFailure: true };
  });
}

/** No hashes where compose cannot tell them: then image and content decide. */
async function configurationHashes(deps: Dependencies, sha: Sha, signal: AbortSignal) {
  try {
    return await deps.compose.configurationHashes(await composeReleaseOf(deps, sha), signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending === 'stopped') throw error;
    return { hashes: null, version: '' };
  }
}
