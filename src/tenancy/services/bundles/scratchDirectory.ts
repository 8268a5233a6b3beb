import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault } from '../../../../machines/fault.ts';
import { ApiError } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';

/** Directory of bundles that are being worked on; what has lain there for long is left over. */
export function incomingDirectory(stateDir: string): string {
  return join(stateDir, 'incoming');
}

/**
 * Gives `use` an empty directory (0700) below the state directory, which is removed in any case. Throws 503 `DISK_FULL`
 * where it cannot be written.
 */
export async function withScratchDirectory<Result>(
  { settings, log }: Dependencies,
  use: (dir: string) => Promise<Result>,
): Promise<Result> {
  const incoming = incomingDirectory(settings.state_dir);
  let dir: string | undefined;
  try {
    await mkdir(incoming, { recursive: true, mode: 0o700 });
    dir = await mkdtemp(join(incoming, 'bundle-'));
    return await use(dir);
  } catch (error) {
    if (!isDiskError(error)) throw error;
    log('warn', `a bundle cannot be written: ${error.message}`);
    const message = 'the disk of the service is full, or cannot be written';
    throw new ApiError({ status: 503, code: 'DISK_FULL', message, retryAfterS: 60 });
  } finally {
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  }
}

/** True if a file could not be written, whichever layer has met that. */
function isDiskError(error: unknown): error is Error {
  if (error instanceof Fault) return error.code === 'DISK_WRITE_FAILED';
  const { code } = Object(error) as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}
