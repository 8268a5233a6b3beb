import { existsSync, readdirSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { isENOENT } from '../errors/diskFault.ts';

/** The names in a directory, in order; none where there is no such directory. Throws other errors of the disk. */
export function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory).toSorted();
  } catch (error) {
    if (isENOENT(error)) return [];
    throw error;
  }
}

/** Where a path leads, all links followed; the path itself while it is not there, or cannot be followed. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return resolve(path);
  }
}

/** Whether something is at a path, as far as this user can see. */
export function isThere(path: string): boolean {
  return existsSync(path);
}
