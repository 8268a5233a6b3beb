import { randomBytes, randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { ConfigInvalid } from '../../core/config/keyTable.ts';
import { readBytes } from '../config/loadSettings.ts';
import { KEY_FILE_BYTES } from '../keys/keyRing.ts';

/** The key file; throws ConfigInvalid if it is missing or damaged. */
export function readKeyFile(file: string): Buffer {
  const bytes = readBytes(file);
  if (bytes.length === KEY_FILE_BYTES) return bytes;
  throw new ConfigInvalid(file, [
    { line: null, key: '', message: `must have ${KEY_FILE_BYTES} bytes, and has ${bytes.length}` },
  ]);
}

/** The key file, which is made durably with mode 0600 if it is not there. */
export async function ensureKeyFile(file: string): Promise<Buffer> {
  if (!existsSync(file)) await createFileOnce(file, (part) => part.writeFile(randomBytes(KEY_FILE_BYTES)));
  return readKeyFile(file);
}

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
