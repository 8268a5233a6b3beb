import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dependencies } from '../dependencies.ts';
import { incomingDirectory } from '../bundles/scratchDirectory.ts';

/** Milliseconds without a change after which a crash has left an upload: a push ends long before. */
const STALE_MS = 3600_000;

/** Removes what pushes that were cut by a crash have left; other instances may receive into the same directory. */
export async function removeStaleUploads({ settings, clock }: Dependencies): Promise<void> {
  const directory = incomingDirectory(settings.state_dir);
  for (const name of await readdir(directory).catch(ignoreMissing)) {
    const path = join(directory, name);
    const stats = await stat(path).catch(() => null);
    if (stats !== null && clock() - stats.mtimeMs > STALE_MS) await rm(path, { recursive: true, force: true });
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): string[] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
