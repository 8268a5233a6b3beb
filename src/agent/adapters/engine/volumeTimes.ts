import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { ExistingVolumes } from '../../rules/release/lostVolumes.ts';
import type { VolumeUse } from '../../rules/release/leftVolumes.ts';
import type { RecordedVolume } from '../../rules/release/releaseRecord.ts';
import type { EngineApi } from './engineApi.ts';

/** -1 where the engine does not know. */
interface UsageData {
  Size?: number;
  RefCount?: number;
}

/** One volume in the engine's list. */
export interface VolumeEntry {
  Name: string;
  Driver: string;
  CreatedAt?: string;
  Mountpoint?: string;
}

/** Queries for the creation times and the use of volumes. */
export function createVolumeQueries({ onInspect }: { onInspect?: (() => void) | undefined }, { getJson }: EngineApi) {
  return {
    /** Every volume of the engine. A driver that does not answer leaves a warning in the list. */
    existingVolumes: async (): Promise<ExistingVolumes> => {
      onInspect?.(); // options of a volume may contain secrets
      const { json, apiVersion, isPodman } = await getJson({ path: '/volumes' });
      const { Volumes, Warnings } = json as { Volumes: VolumeEntry[] | null; Warnings?: string[] | null };
      return {
        volumes: await Promise.all((Volumes ?? []).map(timesOf)),
        isComplete: (Warnings ?? []).length === 0,
        hasStableTimes: isPodman || isSinceDocker23(apiVersion),
      };
    },

    /** Size and use of every volume. The engine measures each one, which may take a while. */
    volumeUses: async (): Promise<VolumeUse[]> => {
      const { json } = await getJson({ path: '/system/df', query: { type: 'volume' } });
      const { Volumes } = json as { Volumes: (VolumeEntry & { UsageData?: UsageData | null })[] | null };
      return (Volumes ?? []).map(({ Name, UsageData }) => {
        const { Size = -1, RefCount = -1 } = UsageData ?? {};
        return { name: Name, size: Size < 0 ? null : Size, isMounted: RefCount !== 0 };
      });
    },
  };
}

/** The times of a volume; drivers of plugins name none, or the year 1. */
export async function timesOf({ Name, Driver, CreatedAt, Mountpoint }: VolumeEntry): Promise<RecordedVolume> {
  const createdMs = Date.parse(CreatedAt ?? '');
  const born_at = Driver === 'local' && Mountpoint ? await birthOf(dirname(Mountpoint)) : null;
  return { name: Name, created_at: createdMs > 0 ? (CreatedAt ?? null) : null, born_at };
}

/** When a directory was made; null where the file system does not know it, or the agent may not look. */
async function birthOf(directory: string): Promise<string | null> {
  const ms = await stat(directory).then(
    ({ birthtimeMs }) => birthtimeMs,
    () => 0,
  );
  return ms > 0 ? new Date(ms).toISOString() : null;
}

/** Whether this is version 1.42 of Docker's API, or a later one. */
function isSinceDocker23(apiVersion: string): boolean {
  const [major = 0, minor = 0] = apiVersion.split('.').map(Number);
  return major > 1 || (major === 1 && minor >= 42);
}
