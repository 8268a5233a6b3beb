import fs from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';

/** Of `node:fs`, since the end of a tick would load `node:fs/promises` for these two alone. */
const [stat, statfs] = [promisify(fs.stat), promisify(fs.statfs)];

/** One filesystem and the paths on it; `freeBytes` is null when it is unknown. */
export interface Filesystem {
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
