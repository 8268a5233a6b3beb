import { Fault } from '../../../machines/fault.ts';
import type { ServiceProblem, Sha } from '../../../machines/types.ts';
import { contentLabelsOf } from '../engine/container.rules.ts';
import { type CreatedContainer, type CreatedResources, serviceOf } from '../engine/createdContainer.rules.ts';
import { adoptable, describeUnknown, recordOf } from '../health/drift.rules.ts';
import { isSameRecord, type RecordedContainer, type ReleaseRecord } from '../release/record.rules.ts';
import { compareContainers } from '../health/health.rules.ts';
import { removeKeepingVolumes } from './createdContainers.ts';
import { replacementReasons } from '../journal/trace.rules.ts';
import { replacementReasonsOf } from './generations.rules.ts';
import type { ComposeDependencies } from './observe.ts';
import { composeReleaseOf } from '../release/releases.ts';
import { recordDigests } from './images.ts';

/**
 * Records the containers and volumes of a release before the containers start, so that after a crash they are not taken
 * for resources of another tool. A container that existed `before` belongs to the release only if a release has
 * recorded it.
 */
export async function recordCreated(
  deps: ComposeDependencies,
  sha: Sha,
  { before, after }: { before: readonly CreatedContainer[]; after: CreatedResources },
): Promise<void> {
  const { releases } = deps;
  const record = await releases.readRecord(sha);
  if (record === null) return;
  const known = await recordedIds(deps);
  const existed = new Set(before.map(({ Id }) => Id));
  const own = after.containers.filter(({ Id }) => known === null || known.has(Id) || !existed.has(Id));
  const due = new Set(record.containers?.filter((each) => each.post_start_due).map(({ id }) => id));
  const isDue = (each: CreatedContainer) =>
    record.hooks?.[serviceOf(each)]?.includes('post_start') === true &&
    (due.has(each.Id) || !['running', 'restarting', 'paused'].includes(each.State.Status));
  const containers = own.map((each) => ({ ...recordOfCreated(each), ...(isDue(each) && { post_start_due: true }) }));
  const names = new Set(containers.flatMap(({ volumes }) => volumes.map(({ name }) => name)));
  const volumes = after.volumes
    .filter(({ name }) => names.has(name))
    .map(({ name, created_at = null, born_at = null }) => ({ name, created_at, born_at }));
  const completed = { ...record, containers, volumes };
  if (!isSameRecord(record, completed)) await releases.writeRecord(sha, completed);
}

/** Records for trace and report which services have new containers and, in an apply, how they were replaced. */
export function recordStart(
  { recordDecision, tick }: ComposeDependencies,
  {
    before,
    after,
    applied,
  }: {
    before: readonly CreatedContainer[];
    after: readonly CreatedContainer[];
    /** Null for a release that is started again. */
    applied: { services: ReleaseRecord['services']; startFirst: ReadonlySet<string> } | null;
  },
): void {
  const [existed, exist] = [before, after].map((all) => all.map((each) => ({ id: each.Id, service: serviceOf(each) })));
  const compared = compareContainers(existed ?? [], exist ?? []);
  recordDecision({ word: 'started', ...compared });
  if (applied === null) return;
  const found = replacementReasonsOf({
    ...{ ...applied, created: new Set(compared.services) },
    before: new Set(before.map(serviceOf)),
  });
  if ([...found.values()].every((reason) => reason === 'kept')) return;
  const servicesBy = Map.groupBy(found.keys(), (service) => found.get(service) ?? 'kept');
  recordDecision({ word: 'orders', ...Object.fromEntries(servicesBy) });
  tick.journal.replaced = [...found].map(([service, reason]) => ({ service, ...replacementReasons[reason] }));
}

/**
 * Removes containers that others created, so that an apply replaces them even if copied labels make compose take them
 * for its own.
 */
export async function removeForeign(deps: ComposeDependencies): Promise<void> {
  const known = deps.settings.drift === 'heal' ? await recordedIds(deps) : null;
  if (known === null) return;
  const statuses = await deps.containers.listStatuses();
  if (statuses.every(({ id, state }) => known.has(id) || state === 'paused')) return;
  const created = await deps.containers.inspectProject();
  for (const container of created.containers.filter(({ Id, State }) => !known.has(Id) && State.Status !== 'paused'))
    await removeKeepingVolumes(deps, container, created);
}

/** Ids of the containers that any release recorded; null while the applied release has no record of them. */
async function recordedIds({ releases, state }: ComposeDependencies): Promise<ReadonlySet<string> | null> {
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

/**
 * Records the existing containers and volumes of a release that an older agent applied without such records, if they
 * match, and the digests of its images. It changes no container. The containers that do not match are returned as
 * problems, and healed from the next tick on.
 */
export async function adoptContainers(
  deps: ComposeDependencies,
  sha: Sha,
  signal: AbortSignal,
): Promise<ServiceProblem[]> {
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

/** Without hashes if compose cannot compute them: then image and content decide. */
async function configurationHashes(deps: ComposeDependencies, sha: Sha, signal: AbortSignal) {
  try {
    const { hashes, version } = await deps.compose.configurationHashes(await composeReleaseOf(deps, sha), signal);
    return { hashes: hashes instanceof Fault ? null : hashes, version };
  } catch (error) {
    if (!(error instanceof Fault) || error.ending === 'stopped') throw error;
    return { hashes: null, version: '' };
  }
}
