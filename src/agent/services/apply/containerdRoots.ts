import { join } from 'node:path';
import { readTextIfExists } from '../../adapters/files/ifExists.ts';

/** Directories of containerd, which a pull fills when the engine uses the containerd image store. */
export async function containerdRoots(rootDir: string): Promise<string[]> {
  const config = (await readTextIfExists('/etc/containerd/config.toml').catch(() => null)) ?? '';
  const root = /^\s*root\s*=\s*["']([^"']+)["']/m.exec(config)?.[1] ?? '/var/lib/containerd';
  return [root, join(rootDir, 'containerd', 'daemon')];
}
