import fs, { existsSync, readdirSync, realpathSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isENOENT } from './errors.rules.ts';

/** Of `node:fs`, since the end of a tick would load `node:fs/promises` for these two alone. */
const [stat, statfs] = [promisify(fs.stat), promisify(fs.statfs)];

/** One filesystem and the paths on it; `freeBytes` is null when it is unknown. */
interface Filesystem {
  device: string;
  paths: string[];
  freeBytes: number | null;
}

/** The distinct filesystems of these paths. A path that is absent or not accessible counts as its nearest parent. */
export async function filesystemsOf(paths: string[]): Promise<Filesystem[]> {
  const byDevice = new Map<string, Filesystem>();
  for (const path of paths) {
    const filesystem = await statFilesystem(path);
    const known = byDevice.get(filesystem.device);
    if (known) known.paths.push(path);
    else byDevice.set(filesystem.device, { ...filesystem, paths: [path] });
  }
  return [...byDevice.values()];
}

async function statFilesystem(path: string): Promise<{ device: string; freeBytes: number | null }> {
  try {
    const { dev } = await stat(path);
    const { bavail, bsize } = await statfs(path);
    return { device: String(dev), freeBytes: bavail * bsize };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code === 'ENOENT' || code === 'EACCES') && path !== '/') return statFilesystem(dirname(path));
    return { device: `unknown:${path}`, freeBytes: null };
  }
}

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
