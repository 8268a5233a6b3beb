import type { MountedVolume, RecordedContainer, RecordedVolume, ReleaseRecord } from './releaseRecord.ts';

/** A volume that a release had and that holds its data no more. */
export interface LostVolume {
  name: string;
  /** `lost`: it is gone; `recreated`: there is another one of its name. */
  how: 'lost' | 'recreated';
  /** The services that mounted it, sorted. */
  services: string[];
}

/** The volumes that the engine has. */
export interface ExistingVolumes {
  volumes: readonly RecordedVolume[];
  /** False when the engine could not list all of them: a driver did not answer. */
  isComplete: boolean;
  /** True when the engine never changes the creation time of a volume. */
  hasStableTimes: boolean;
}

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

/** Those of them that are lost, by the volumes that the engine has. */
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

/** The record without volumes that an operator gave up: nobody misses them from now on. */
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
