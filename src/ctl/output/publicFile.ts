import { link, rename, rm, writeFile } from 'node:fs/promises';
import { usageError } from '../ctlError.ts';
import { fileUnwritable } from './privateFile.ts';

/** Writes a file that everybody may read, whole or not at all. Throws FILE_EXISTS for one that is there, unless `force`. */
export async function writePublicFile(file: string, text: string, force: boolean): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, text, { flag: 'wx' });
    await (force ? rename(temporary, file) : link(temporary, file));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? fileExists(file) : fileUnwritable(file, error);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The error of a file that must not be overwritten. */
export function fileExists(file: string): Error {
  return usageError('FILE_EXISTS', `${file} is there already`, 'name another by --out, or overwrite it by --force');
}
