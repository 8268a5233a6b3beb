import type { Refusal } from '../../../../machines/words.ts';

/** What a pull needs, and the filesystems that it can fill. */
export interface Room {
  /** As the bundle declares it, null where it declares nothing. */
  needBytes: number | null;
  headroomBytes: number;
  filesystems: readonly {
    device: string | number | null;
    paths: readonly string[];
    /** Null when it could not be found out. */
    freeBytes: number | null;
  }[];
}

/** Images are kept packed and unpacked at once while they are pulled (spec §9). */
const needFactor = 1.5;

/** DISK_INSUFFICIENT unless each filesystem has the declared need × 1.5 plus the headroom, or at least the headroom. */
export function judgeDisk({ needBytes, headroomBytes, filesystems }: Room): Refusal | null {
  const wanted = neededBytes({ needBytes, headroomBytes });
  const sum =
    needBytes === null
      ? 'headroom alone'
      : `${needFactor} × ${gibibytes(needBytes, Math.ceil)} declared + ${gibibytes(headroomBytes, Math.ceil)} headroom`;
  const faults = filesystems.flatMap(({ paths, freeBytes }) => {
    const where = paths.join(', ');
    if (freeBytes === null) return [`cannot tell how much is free on ${where}`];
    if (freeBytes >= wanted) return [];
    return [`needs ${gibibytes(wanted, Math.ceil)} on ${where} (${sum}), ${gibibytes(freeBytes, Math.floor)} free`];
  });
  if (filesystems.length === 0) faults.push('no filesystem could be checked');
  return faults.length === 0 ? null : { code: 'DISK_INSUFFICIENT', detail: faults.join('; ') };
}

/** What must be free on each filesystem. */
export function neededBytes({ needBytes, headroomBytes }: Pick<Room, 'needBytes' | 'headroomBytes'>): number {
  return (needBytes ?? 0) * needFactor + headroomBytes;
}

/** Bytes in words: needs are rounded up and free space down, so that a refusal never looks like enough room. */
export function gibibytes(bytes: number, round: (value: number) => number): string {
  return `${(round((bytes / 2 ** 30) * 10) / 10).toFixed(1)} GiB`;
}
