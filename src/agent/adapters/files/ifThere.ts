import { lstatSync, type Stats } from 'node:fs';
import { readdir, readText } from './atOnce.ts';
import { diskFault, isENOENT, isNoFile } from './files.ts';

/**
 * The text of a small file; null when there is none, or what has its name is a FIFO or the like, which is written over. Throws
 * what the disk says otherwise.
 */
export async function textIfThere(path: string): Promise<string | null> {
  return readText(path).catch((error: unknown) => {
    if (isENOENT(error) || isNoFile(error)) return null;
    throw diskFault('read', path, error);
  });
}

/** What stands at a path, a link as such; null for nothing. Throws what the disk says otherwise. */
export async function statsIfThere(path: string): Promise<Stats | null> {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw diskFault('read', path, error);
  }
}

/** The names in a directory, none where it is not there. Throws what the disk says otherwise. */
export async function namesIfThere(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: unknown) => {
    if (isENOENT(error)) return [];
    throw diskFault('read', dir, error);
  });
}
