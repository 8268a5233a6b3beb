import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { Fault, throwIfStopped } from '../../../../machines/fault.ts';
import type { Inventory } from '../../../bundle/archive/inventory.rules.ts';
import { digestOfHandle, openRegularFile } from '../../../core/files.ts';
import { isENOENT } from '../../../core/errors.rules.ts';

/** A release that may hold files of others. */
export interface SearchedRelease {
  dir: string;
  /** Null where it is not known: then every file counts as one of others. */
  inventory: Inventory | null;
  /** The search ends after this many paths. */
  limit: number;
}

/**
 * The paths below a release that neither its bundle nor the agent wrote, or that others have changed; sorted. A directory that the
 * agent cannot look into counts as such a path. Links are not followed.
 */
export async function findWrittenFiles(
  { dir, inventory, limit }: SearchedRelease,
  signal: AbortSignal,
): Promise<string[]> {
  const bundled = new Map((inventory?.files ?? []).map((file) => [file.path, file]));
  const found = await findAdded(dir, { known: bundled, limit }, signal);
  for (const { path, size, sha256 } of bundled.values()) {
    if (found.length >= limit) break;
    throwIfStopped(signal);
    if (await isChanged(join(dir, path), { size, sha256 }, signal)) found.push(path);
  }
  return found.toSorted();
}

async function findAdded(
  dir: string,
  { known, limit }: { known: ReadonlyMap<string, unknown>; limit: number },
  signal: AbortSignal,
): Promise<string[]> {
  const found: string[] = [];
  const pending = [''];
  for (let below = pending.pop(); below !== undefined; below = pending.pop()) {
    const prefix = below === '' ? '' : `${below}/`;
    try {
      for await (const entry of await opendir(join(dir, below))) {
        throwIfStopped(signal);
        if (found.length >= limit) return found;
        if (below === '' && isOfAgent(entry.name)) continue;
        if (entry.isDirectory()) pending.push(`${prefix}${entry.name}`);
        else if (!known.has(`${prefix}${entry.name}`)) found.push(`${prefix}${entry.name}`);
      }
    } catch (error) {
      if (error instanceof Fault) throw error;
      if (below !== '' || !isENOENT(error)) found.push(prefix || './');
    }
  }
  return found;
}

/** The generated files of a release, and what a cut write of one leaves. */
function isOfAgent(name: string): boolean {
  return /^\.(env|deployd)(\.|$)/.test(name);
}

/** A file that is missing holds nothing; one that cannot be read may. */
async function isChanged(
  path: string,
  bundled: { size: number; sha256: string },
  signal: AbortSignal,
): Promise<boolean> {
  try {
    await using file = await openRegularFile(path, { follow: false });
    if ((await file.stat()).size !== bundled.size) return true;
    return (await digestOfHandle(file, bundled.size, signal)) !== bundled.sha256;
  } catch (error) {
    throwIfStopped(signal);
    return !isENOENT(error) && (error as NodeJS.ErrnoException).code !== 'ENOTDIR';
  }
}
