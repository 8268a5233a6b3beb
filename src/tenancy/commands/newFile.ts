import { randomUUID } from 'node:crypto';
import { link, open, rm, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Makes a file with mode 0600 durably and in one step: nobody sees a part of it, and one that is there stays as it is.
 * `write` fills it, by the handle or by its temporary path. Returns false if there was one.
 */
export async function createFileOnce(
  file: string,
  write: (part: FileHandle, path: string) => Promise<unknown>,
): Promise<boolean> {
  const path = `${file}.${randomUUID()}.part`;
  const part = await open(path, 'wx', 0o600);
  try {
    await write(part, path);
    await part.sync();
    await link(path, file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  } finally {
    await part.close();
    await rm(path);
    await syncDirectory(dirname(file));
  }
}

/** Makes the names in a directory survive a power cut. */
export async function syncDirectory(path: string): Promise<void> {
  const directory = await open(path, 'r');
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
