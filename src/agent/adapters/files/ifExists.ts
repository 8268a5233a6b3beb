import { lstatSync, type Stats } from 'node:fs';
import { readdir, readText } from './syncFs.ts';
import { diskFault, isENOENT, isNotAFile } from '../../../core/errors.rules.ts';

/**
 * The text of a small file; null when it is absent, or a FIFO or the like, which the next write replaces. Throws any
 * other error of the disk.
 */
export async function readTextIfExists(path: string): Promise<string | null> {
  return readText(path).catch((error: unknown) => {
    if (isENOENT(error) || isNotAFile(error)) return null;
    throw diskFault('read', path, error);
  });
}

/** The stats of a path without following links (lstat); null when it is absent. Throws any other error of the disk. */
export async function statIfExists(path: string): Promise<Stats | null> {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) ?? null;
  } catch (error) {
    throw diskFault('read', path, error);
  }
}

/** The names in a directory; none when it is absent. Throws any other error of the disk. */
export async function readdirIfExists(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: unknown) => {
    if (isENOENT(error)) return [];
    throw diskFault('read', dir, error);
  });
}
