import { stat, statfs } from 'node:fs/promises';
import { dirname } from 'node:path';

/** One filesystem and the paths that led to it; `freeBytes` null when it cannot be seen. */
export interface Filesystem {
  device: string;
  paths: string[];
  freeBytes: number | null;
}

/** The distinct filesystems behind these paths, each once; a path that is not there yet, or hidden from the agent, by its nearest parent. */
export async function filesystemsOf(paths: string[]): Promise<Filesystem[]> {
  const found = new Map<string, Filesystem>();
  for (const path of paths) {
    const seen = await look(path);
    const known = found.get(seen.device);
    if (known) known.paths.push(path);
    else found.set(seen.device, { ...seen, paths: [path] });
  }
  return [...found.values()];
}

async function look(path: string): Promise<{ device: string; freeBytes: number | null }> {
  try {
    const { dev } = await stat(path);
    const { bavail, bsize } = await statfs(path);
    return { device: String(dev), freeBytes: bavail * bsize };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if ((code === 'ENOENT' || code === 'EACCES') && path !== '/') return look(dirname(path));
    return { device: `unseen:${path}`, freeBytes: null };
  }
}
