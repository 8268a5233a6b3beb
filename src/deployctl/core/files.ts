import { access, constants, type FileHandle, link, mkdir, open, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CtlError, exits, usageError } from './ctlError.ts';

/** Creates a file and opens it for writing. Throws FILE_EXISTS rather than overwrite one, and FILE_UNWRITABLE. */
export async function createNewFile(file: string): Promise<FileHandle> {
  return open(file, 'wx').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw fileUnwritable(file, error);
    throw usageError('FILE_EXISTS', `${file} is there already`, 'name another place: nothing is overwritten');
  });
}

/** Writes a file that only its owner may read, in place of an older one; its directory is made where it is missing. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await makePrivateDirectory(dirname(file));
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
    await rename(temporary, file);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw fileUnwritable(file, error);
  }
}

/** Makes a directory for its owner alone; one that is there must be writable, and keeps its mode. */
export async function makePrivateDirectory(dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await access(dir, constants.W_OK);
  } catch (error) {
    throw fileUnwritable(dir, error);
  }
}

/** The error of a file that cannot be written; CtlErrors stay as they are. */
export function fileUnwritable(file: string, error: unknown): Error {
  if (error instanceof CtlError) return error;
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return new CtlError({ exit: exits.failed, code: 'FILE_UNWRITABLE', message: `${file} cannot be written (${code})` });
}

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
