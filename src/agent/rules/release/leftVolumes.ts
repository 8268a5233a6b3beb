import { isAnonymous } from './lostVolumes.ts';
import type { ReleaseRecord } from './releaseRecord.ts';

/** An anonymous volume of a container that a release had, and where it was mounted. */
export interface AnonymousVolume {
  name: string;
  service: string;
  target: string;
}

/** A volume of the engine. */
export interface VolumeUse {
  name: string;
  /** Bytes; null where the engine does not know. */
  size: number | null;
  /** True where a container mounts it, running or not. */
  isMounted: boolean;
}

/** How many are remembered after their releases are gone; the newest are kept. */
const maxRemembered = 500;

/** The anonymous volumes that release records name, each once. */
export function anonymousVolumesIn(records: readonly Pick<ReleaseRecord, 'containers'>[]): AnonymousVolume[] {
  const mounted = records
    .flatMap(({ containers = [] }) => containers)
    .flatMap(({ service, volumes }) => volumes.map(({ name, target }) => ({ name, service, target })));
  return [...new Map(mounted.filter(({ name }) => isAnonymous(name)).map((volume) => [volume.name, volume])).values()];
}

/** What is remembered once a release is removed: its anonymous volumes too, without those that the engine has no more. */
export function rememberVolumes(
  remembered: readonly AnonymousVolume[],
  removed: Pick<ReleaseRecord, 'containers'>,
  existing: ReadonlySet<string>,
): AnonymousVolume[] {
  const all = new Map([...remembered, ...anonymousVolumesIn([removed])].map((volume) => [volume.name, volume]));
  return [...all.values()].filter(({ name }) => existing.has(name)).slice(-maxRemembered);
}

/** Those that the engine has and no container mounts, the largest first. */
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
