import type { Sha } from '../../../../machines/types.ts';
import {
  serviceOf,
  type CreatedContainer,
  type CreatedResources,
} from '../../rules/createdContainers/createdContainer.ts';
import { isSameRecord, type RecordedContainer } from '../../rules/release/releaseRecord.ts';
import type { Dependencies } from '../dependencies.ts';
import { removeKeepingVolumes } from './createdContainers.ts';

/**
 * Records the containers and volumes of a release before the containers start, so that a crash does not make them look like those
 * of another tool. A container that existed `before` belongs to it only if a release has recorded it.
 */
export async function recordCreated(
  deps: Dependencies,
  sha: Sha,
  { before, after }: { before: readonly CreatedContainer[]; after: CreatedResources },
): Promise<void> {
  const { releases } = deps;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const known = await recordedIds(deps);
  const existed = new Set(before.map(({ Id }) => Id));
  const own = after.containers.filter(({ Id }) => known === null || known.has(Id) || !existed.has(Id));
  const containers = own.map(recordOfCreated);
  const names = new Set(containers.flatMap(({ volumes }) => volumes.map(({ name }) => name)));
  const volumes = after.volumes
    .filter(({ name }) => names.has(name))
    .map(({ name, created_at = null, born_at = null }) => ({ name, created_at, born_at }));
  const completed = { ...record, containers, volumes };
  if (!isSameRecord(record, completed)) await releases.writeRecord(sha, completed);
}

/**
 * Removes the containers that others created, so that an apply replaces them also where compose takes them for its own, by labels
 * that were copied.
 */
export async function removeForeign(deps: Dependencies): Promise<void> {
  const known = deps.settings.drift === 'heal' ? await recordedIds(deps) : null;
  if (known === null) return;
  const statuses = await deps.containers.listStatuses();
  if (statuses.every(({ id, state }) => known.has(id) || state === 'paused')) return;
  const created = await deps.containers.inspectProject();
  for (const container of created.containers.filter(({ Id, State }) => !known.has(Id) && State.Status !== 'paused'))
    await removeKeepingVolumes(deps, container, created);
}

/** Ids of the containers that any release recorded; null while the applied release has no record of them. */
async function recordedIds({ releases, state }: Dependencies): Promise<ReadonlySet<string> | null> {
  const { applied_sha } = state.state;
  const applied = applied_sha === null ? null : await releases.readRecord(applied_sha);
  if (applied?.containers === undefined) return null;
  const records = await Promise.all((await releases.list()).map((sha) => releases.readRecord(sha)));
  return new Set(records.flatMap((record) => record?.containers ?? []).map(({ id }) => id));
}

function recordOfCreated(container: CreatedContainer): RecordedContainer {
  const { Id, Image, Mounts, NetworkSettings } = container;
  return {
    id: Id,
    service: serviceOf(container),
    image: Image,
    networks: Object.keys(NetworkSettings.Networks ?? {}).sort(),
    volumes: (Mounts ?? []).flatMap(({ Type, Name, Destination }) =>
      Type === 'volume' && Name ? [{ name: Name, target: Destination }] : [],
    ),
    number: container.Config.Labels?.['com.docker.compose.container-number'] ?? '',
  };
}
