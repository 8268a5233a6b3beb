import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { notRegular } from './atOnce.ts';

/**
 * Opens a file to read it, and nothing else that may stand in its place: a FIFO or a device would be waited for without
 * end. A link is followed only on demand. Throws EISDIR or ENOTREG for what is no file.
 */
export async function openPlain(path: string, { follow }: { follow: boolean }): Promise<FileHandle> {
  const { O_RDONLY, O_NONBLOCK, O_NOFOLLOW } = constants;
  const file = await open(path, O_RDONLY | O_NONBLOCK | (follow ? 0 : O_NOFOLLOW));
  try {
    const found = await file.stat();
    if (!found.isFile()) throw notRegular(found);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}
