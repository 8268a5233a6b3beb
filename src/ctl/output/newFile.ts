import { open, type FileHandle } from 'node:fs/promises';
import { usageError } from '../ctlError.ts';
import { fileUnwritable } from './privateFile.ts';

/** Creates a file and opens it for writing. Throws FILE_EXISTS rather than overwrite one, and FILE_UNWRITABLE. */
export async function createNewFile(file: string): Promise<FileHandle> {
  return open(file, 'wx').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw fileUnwritable(file, error);
    throw usageError('FILE_EXISTS', `${file} is there already`, 'name another place: nothing is overwritten');
  });
}
