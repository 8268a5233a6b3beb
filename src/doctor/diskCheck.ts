import type { Fact } from '../platform/fact.ts';
import { formatGibibytes } from '../platform/text/formatGibibytes.ts';
import { checkResult, unknownCheck, type Check } from './diagnosis.ts';

/** A filesystem, the free space that it must have, and for which purpose. */
export interface DiskSpaceFacts {
  paths: readonly string[];
  freeBytes: number | null;
  neededBytes: number;
  purpose: 'images' | 'state';
}

/** Checks the free space for images and for the state on every filesystem (spec §5.8). */
export function checkDiskSpace(filesystems: Fact<readonly DiskSpaceFacts[]>): Check {
  if ('unknown' in filesystems) return unknownCheck('disk', filesystems.unknown);
  const detail = filesystems.known
    .map(({ paths, freeBytes }) => `${formatFreeSpace(freeBytes)} free on ${paths.join(', ')}`)
    .join('; ');
  const findings = filesystems.known.flatMap(({ paths, freeBytes, neededBytes, purpose }) => {
    const where = paths.join(', ');
    if (freeBytes === null)
      return [{ problem: `cannot tell how much is free on ${where}`, fix: `df -h ${paths.join(' ')}` }];
    if (freeBytes >= neededBytes) return [];
    const problem = `${formatFreeSpace(freeBytes)} free on ${where}, ${formatGibibytes(neededBytes, Math.ceil)} must be`;
    return [{ problem, fix: purpose === 'images' ? 'sudo docker system prune' : `sudo du -xsh ${where}/*` }];
  });
  return checkResult('disk', detail, findings);
}

function formatFreeSpace(bytes: number | null): string {
  return bytes === null ? 'an unknown amount' : formatGibibytes(bytes, Math.floor);
}
