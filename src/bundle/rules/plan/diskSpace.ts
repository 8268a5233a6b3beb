import { refusalWith, type Refusal } from '../../../../machines/refusals.ts';
import { formatGibibytes } from '../../../platform/text/formatGibibytes.ts';

/** Space that a pull needs, and the filesystems that it writes to. */
export interface DiskSpace {
  /** `disk_need_bytes` of the manifest; null when it is not declared. */
  needBytes: number | null;
  headroomBytes: number;
  filesystems: readonly {
    device: string | number | null;
    paths: readonly string[];
    /** Null when it could not be determined. */
    freeBytes: number | null;
  }[];
}

/** During a pull, an image is on disk packed and unpacked (spec §9). */
const needFactor = 1.5;

/** DISK_INSUFFICIENT unless each filesystem has 1.5 × the declared need plus the headroom; null when all have. */
export function validateDiskSpace({ needBytes, headroomBytes, filesystems }: DiskSpace): Refusal | null {
  const required = requiredBytes({ needBytes, headroomBytes });
  const sum =
    needBytes === null
      ? 'headroom alone'
      : `${needFactor} × ${formatGibibytes(needBytes, Math.ceil)} declared + ${formatGibibytes(headroomBytes, Math.ceil)} headroom`;
  const faults = filesystems.flatMap(({ paths, freeBytes }) => {
    const where = paths.join(', ');
    if (freeBytes === null) return [`cannot tell how much is free on ${where}`];
    if (freeBytes >= required) return [];
    return [
      `needs ${formatGibibytes(required, Math.ceil)} on ${where} (${sum}), ${formatGibibytes(freeBytes, Math.floor)} free`,
    ];
  });
  if (filesystems.length === 0) faults.push('no filesystem could be checked');
  const cure = 'free room on the host, or correct disk_need_bytes';
  return faults.length === 0
    ? null
    : refusalWith(
        'DISK_INSUFFICIENT',
        faults.map((text) => ({ text, cure })),
      );
}

/** Bytes that must be free on each filesystem. */
export function requiredBytes({ needBytes, headroomBytes }: Pick<DiskSpace, 'needBytes' | 'headroomBytes'>): number {
  return (needBytes ?? 0) * needFactor + headroomBytes;
}
