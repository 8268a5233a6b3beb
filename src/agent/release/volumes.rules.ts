import type { MountedVolume } from '../engine/container.rules.ts';
import type { ExistingVolumes, RecordedVolume, VolumeUse } from '../engine/resources.rules.ts';
import type { AnonymousVolume, LostVolume, PendingPurge, ProjectResources } from '../state/state.rules.ts';
import type { RecordedContainer, ReleaseRecord } from './record.rules.ts';

type VolumeRecord = Pick<ReleaseRecord, 'containers' | 'volumes'>;

type PresentContainer = { id: string; created: { volumes: readonly MountedVolume[] } };

/**
 * Recorded volumes that may be lost: no recorded container that mounts them exists any more. The engine removes no volume that a
 * container mounts, not even a stopped one. An anonymous volume of a service that needs no container does not matter.
 */
export function volumesInDoubt(
  { containers = [], volumes = [] }: VolumeRecord,
  present: readonly PresentContainer[],
  expected: readonly { name: string }[],
): RecordedVolume[] {
  const ids = new Set(present.map(({ id }) => id));
  const mounted = new Set(present.flatMap(({ created }) => created.volumes.map(({ name }) => name)));
  const awaited = new Set(expected.map(({ name }) => name));
  return volumes.filter(({ name }) => {
    const users = usersOf(containers, name);
    if (users.some(({ id }) => ids.has(id))) return false;
    return !isAnonymous(name) || (!mounted.has(name) && users.some(({ service }) => awaited.has(service)));
  });
}

/** The volumes in doubt that are lost, according to the engine's volumes. */
export function lostVolumes(
  doubtful: readonly RecordedVolume[],
  { containers = [] }: VolumeRecord,
  { volumes, isComplete, hasStableTimes }: ExistingVolumes,
): LostVolume[] {
  const existing = new Map(volumes.map((volume) => [volume.name, volume]));
  return doubtful.flatMap((recorded): LostVolume[] => {
    const found = existing.get(recorded.name);
    const users = usersOf(containers, recorded.name);
    const services = [...new Set(users.map(({ service }) => service))].sort();
    if (found === undefined) return isComplete ? [{ name: recorded.name, how: 'lost', services }] : [];
    return isAnother(recorded, found, hasStableTimes) ? [{ name: recorded.name, how: 'recreated', services }] : [];
  });
}

/** `volume shop_data is gone`: a lost volume in words. */
export function describeLoss({ name, how }: LostVolume): string {
  const shown = isAnonymous(name) ? `anonymous volume ${name.slice(0, 12)}` : `volume ${name}`;
  return how === 'lost' ? `${shown} is gone` : `${shown} was removed and created again`;
}

/** The record without volumes that an operator gave up: from now on their loss is not reported. */
export function withoutVolumes<T extends VolumeRecord>(record: T, names: readonly string[]): T {
  const isKept = ({ name }: { name: string }) => !names.includes(name);
  const containers = record.containers?.map((each) => ({ ...each, volumes: each.volumes.filter(isKept) }));
  const volumes = record.volumes?.filter(isKept);
  return { ...record, ...(containers && { containers }), ...(volumes && { volumes }) };
}

/**
 * Recorded containers that are gone, with their anonymous volumes that nobody mounts now: compose would create empty ones in place
 * of them.
 */
export function detachedVolumes(
  { containers = [] }: VolumeRecord,
  present: readonly PresentContainer[],
  existing: readonly { name: string }[],
): RecordedContainer[] {
  const ids = new Set(present.map(({ id }) => id));
  const mounted = new Set(present.flatMap(({ created }) => created.volumes.map(({ name }) => name)));
  const found = new Set(existing.map(({ name }) => name));
  return containers
    .filter(({ id }) => !ids.has(id))
    .map((container) => {
      const isDetached = ({ name }: MountedVolume) => isAnonymous(name) && !mounted.has(name) && found.has(name);
      return { ...container, volumes: container.volumes.filter(isDetached) };
    })
    .filter(({ volumes }) => volumes.length > 0);
}

/** True for a name that the engine gave. */
export function isAnonymous(name: string): boolean {
  return /^[0-9a-f]{64}$/.test(name);
}

function usersOf(containers: readonly RecordedContainer[], name: string): RecordedContainer[] {
  return containers.filter(({ volumes }) => volumes.some((volume) => volume.name === name));
}

function isAnother(recorded: RecordedVolume, found: RecordedVolume, hasStableTimes: boolean): boolean {
  const { born_at, created_at } = recorded;
  if (born_at !== null && found.born_at !== null) return born_at !== found.born_at;
  if (!hasStableTimes || created_at === null || found.created_at === null) return false;
  return Date.parse(created_at) !== Date.parse(found.created_at);
}

/** Maximum number of volumes that are kept after their releases are gone; the newest are kept. */
const maxRemembered = 500;

/** The anonymous volumes that release records name, each once. */
export function anonymousVolumesIn(records: readonly Pick<ReleaseRecord, 'containers'>[]): AnonymousVolume[] {
  const mounted = records
    .flatMap(({ containers = [] }) => containers)
    .flatMap(({ service, volumes }) => volumes.map(({ name, target }) => ({ name, service, target })));
  return [...new Map(mounted.filter(({ name }) => isAnonymous(name)).map((volume) => [volume.name, volume])).values()];
}

/**
 * The list after the removal of a release: also its anonymous volumes, without those that no longer exist on the
 * engine.
 */
export function rememberVolumes(
  remembered: readonly AnonymousVolume[],
  removed: Pick<ReleaseRecord, 'containers'>,
  existing: ReadonlySet<string>,
): AnonymousVolume[] {
  const all = new Map([...remembered, ...anonymousVolumesIn([removed])].map((volume) => [volume.name, volume]));
  return [...all.values()].filter(({ name }) => existing.has(name)).slice(-maxRemembered);
}

/** The existing volumes that no container mounts, the largest first. */
export function unusedVolumes(
  known: readonly AnonymousVolume[],
  volumes: readonly VolumeUse[],
): (AnonymousVolume & Pick<VolumeUse, 'size'>)[] {
  const unmounted = new Map(volumes.filter(({ isMounted }) => !isMounted).map(({ name, size }) => [name, size]));
  const byName = new Map(known.map((volume) => [volume.name, volume]));
  return [...byName.values()]
    .filter(({ name }) => unmounted.has(name))
    .map((volume) => ({ ...volume, size: unmounted.get(volume.name) ?? null }))
    .sort((one, other) => (other.size ?? 0) - (one.size ?? 0));
}

/** Facts that decide whether `down` may remove data volumes. */
interface PurgeFacts {
  /** Null when it is not known on this host. */
  production: boolean | null;
  /** The tenancy service sent `purge_volumes: true`. */
  purgeRequested: boolean;
  /** Config `volumes_on_absent`. */
  onAbsent: 'keep' | 'purge';
  /** Config `policy.deny` has `purge`. */
  denied: boolean;
}

/**
 * The volume rule (spec §7): `-v` only when a purge is requested, and only in an environment that is known not to be
 * production, on a host that does not deny it.
 */
export function mayRemoveVolumes(facts: PurgeFacts): boolean {
  return facts.production === false && !facts.denied && isPurgeRequested(facts);
}

/**
 * The journal line of a requested purge that is not performed, null if there is none. `volumes` are the project's
 * volumes; without any, an environment with unknown production status has nothing to lose.
 */
export function formatIgnoredPurge(facts: PurgeFacts, volumes: readonly string[]): string | null {
  if (!isPurgeRequested(facts) || mayRemoveVolumes(facts)) return null;
  if (facts.denied) return 'purge of volumes ignored: policy.deny of this host names purge; volumes stay';
  if (facts.production === true) return 'purge of volumes ignored: this is a production environment; volumes stay';
  if (volumes.length === 0) return null;
  const why = 'nothing on this host shows whether this is a production environment';
  return `purge of volumes ignored: ${why}; kept, remove them by hand if it is not: ${volumes.join(', ')}`;
}

/**
 * Production status of an environment, from its releases: true when one says so, false when all say no, null when one
 * is unknown or there are no releases (spec §7.1).
 */
export function productionOf(statuses: readonly (boolean | null)[]): boolean | null {
  if (statuses.includes(true)) return true;
  return statuses.length === 0 || statuses.includes(null) ? null : false;
}

function isPurgeRequested({ purgeRequested, onAbsent }: PurgeFacts): boolean {
  return purgeRequested || onAbsent === 'purge';
}

/** True when a mount of `source` exposes the directory, a part of it, or a directory above it. */
export function exposesDirectory(source: string, directory: string): boolean {
  return isWithin(source, directory) || isWithin(directory, source);
}

/** True when a path is the directory or is below it. */
export function isWithin(path: string, directory: string): boolean {
  return withTrailingSlash(path).startsWith(withTrailingSlash(directory));
}

function withTrailingSlash(path: string): string {
  return path.endsWith('/') ? path : `${path}/`;
}

/** No resources. */
export const noResources: ProjectResources = { volumes: [], networks: [] };

/** The resources in both. */
export function commonResources(first: ProjectResources, second: ProjectResources): ProjectResources {
  return filterResources(first, (kind, name) => second[kind].includes(name));
}

/** The resources in the first but not in the second. */
export function resourcesWithout(first: ProjectResources, second: ProjectResources): ProjectResources {
  return filterResources(first, (kind, name) => !second[kind].includes(name));
}

/** True without any volume or network. */
export function hasNoResources({ volumes, networks }: ProjectResources): boolean {
  return volumes.length === 0 && networks.length === 0;
}

/** `volume a, network b`; `suffixOf` returns the text after each name. */
export function describeResources(
  resources: ProjectResources,
  suffixOf: (kind: keyof ProjectResources, name: string) => string = () => '',
): string {
  const volumes = resources.volumes.map((name) => `volume ${name}${suffixOf('volumes', name)}`);
  return [...volumes, ...resources.networks.map((name) => `network ${name}${suffixOf('networks', name)}`)].join(', ');
}

function filterResources(
  { volumes, networks }: ProjectResources,
  isKept: (kind: keyof ProjectResources, name: string) => boolean,
): ProjectResources {
  return {
    volumes: volumes.filter((name) => isKept('volumes', name)),
    networks: networks.filter((name) => isKept('networks', name)),
  };
}

const maxPendingH = 24;

/** The time at which the purge is given up. */
export function purgeDeadline({ since }: PendingPurge): Date {
  return new Date(Date.parse(since) + maxPendingH * 3_600_000);
}

/** Start of the pending purge; `now` when the recorded time is in the future, because the clock was set back. */
export function pendingSince({ since }: PendingPurge, now: Date): string {
  return Date.parse(since) > now.getTime() ? now.toISOString() : since;
}

/**
 * The pending purge after a `down`, null if there is none. Resources that were pending before keep their start time.
 */
export function pendingPurgeOf(
  remaining: ProjectResources,
  before: PendingPurge | null,
  now: Date,
): PendingPurge | null {
  if (hasNoResources(remaining)) return null;
  const wasPending = before !== null && !hasNoResources(commonResources(remaining, before));
  return { ...remaining, since: wasPending ? pendingSince(before, now) : now.toISOString() };
}

/** The journal line of the resources that remain, with the names of the containers that use them. */
export function formatPendingPurge(
  remaining: ProjectResources,
  resourceUsers: readonly ({ name: string } & Record<keyof ProjectResources, readonly string[]>)[],
): string {
  const using = (kind: keyof ProjectResources, name: string) => {
    const users = resourceUsers.filter((user) => user[kind].includes(name));
    return users.length === 0 ? '' : ` (used by ${users.map((user) => user.name).join(', ')})`;
  };
  return `down: in use outside the project, so not removed yet: ${describeResources(remaining, using)}; tried again for ${maxPendingH} h`;
}

/** The journal lines at the end of a pending purge. */
export const purgeMessages = {
  removed: (removed: ProjectResources) => `down: removed at last: ${describeResources(removed)}`,
  dropped: (why: string, remaining: ProjectResources) =>
    `down: not removed any more, as ${why}: ${describeResources(remaining)}`,
  givenUp: (remaining: ProjectResources) =>
    `down: not removed within ${maxPendingH} h, so left to be removed by hand: ${describeResources(remaining)}`,
};
