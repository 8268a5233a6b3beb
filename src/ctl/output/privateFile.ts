import { access, constants, mkdir, rename, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CtlError, exits } from '../ctlError.ts';

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
