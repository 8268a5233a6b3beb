import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { monotonicMs } from './clock.ts';

/** Result of a removal; `stuck` when permissions prevent it. */
export type RemovalResult = 'gone' | 'stuck' | 'unfinished';

/** When to stop and leave the rest to the next removal. */
export interface RemovalLimits {
  signal: AbortSignal;
  /** Milliseconds of the monotonic clock. */
  untilMs: number;
}

/**
 * Removes a file, link or directory with its content, of any size: names are read in batches and no link is followed.
 * Stops on abort and at the deadline.
 */
export async function removeTree(path: string, limits: RemovalLimits): Promise<RemovalResult> {
  const bytes = Buffer.from(path).toString('latin1');
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined) return 'gone';
    if (!stats.isDirectory()) unlinkSync(path);
    else return await removeDirectory(bytes, { ...limits, top: bytes });
    return 'gone';
  } catch {
    return 'stuck';
  }
}

interface Removal extends RemovalLimits {
  top: string;
}

async function removeDirectory(dir: string, removal: Removal): Promise<RemovalResult> {
  const failures: RemovalResult[] = [];
  for await (const entry of await opendir(asBytes(dir), { bufferSize: batchSize, encoding: 'latin1' })) {
    if (removal.signal.aborted || monotonicMs() > removal.untilMs) return 'unfinished';
    const path = `${dir}/${entry.name}`;
    const result = entry.isDirectory() ? await removeBelow(path, removal) : unlinkEntry(path);
    // without permission for one entry, there is no permission for the others
    if (result === 'stuck' && !entry.isDirectory()) return 'stuck';
    if (result !== 'gone') failures.push(result);
  }
  const [result] = failures.toSorted().toReversed();
  return result ?? attempt(() => rmdirSync(asBytes(dir)));
}

/** Moves a directory that is too deep for a path to the top, to be removed by the next call. */
async function removeBelow(path: string, removal: Removal): Promise<RemovalResult> {
  const isDeep = path.length > maxPathLength;
  if (isDeep) return attempt(() => renameSync(asBytes(path), asBytes(`${removal.top}.${randomUUID()}`)));
  return removeDirectory(path, removal).catch(() => 'stuck' as const);
}

function unlinkEntry(path: string): RemovalResult {
  return attempt(() => unlinkSync(asBytes(path)));
}

/** Paths in this module hold one byte per character: names from containers need not be valid UTF-8. */
function asBytes(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

function attempt(work: () => void): RemovalResult {
  try {
    work();
    return 'gone';
  } catch {
    return 'stuck';
  }
}

const batchSize = 256;

/** Bytes; PATH_MAX is 4096. */
const maxPathLength = 3000;
