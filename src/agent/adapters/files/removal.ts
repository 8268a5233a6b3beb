import { randomUUID } from 'node:crypto';
import { lstatSync, renameSync, rmdirSync, unlinkSync } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { clockMs } from '../../journal/clock.ts';

/** How the removal of a tree ended; `stuck` where something in it belongs to somebody else. */
export type Removed = 'gone' | 'stuck' | 'unfinished';

/** When to leave the rest for the next time. */
export interface Patience {
  signal: AbortSignal;
  /** Milliseconds of the clock that never jumps. */
  untilMs: number;
}

/**
 * Removes a file, link or directory with all that is in it, however much a container has written there: names are read a few
 * at a time, no link is followed, and it ends when the signal says so or the time is up.
 */
export async function removeTree(path: string, patience: Patience): Promise<Removed> {
  const bytes = Buffer.from(path).toString('latin1');
  try {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return 'gone';
    if (!found.isDirectory()) unlinkSync(path);
    else return await removeDirectory(bytes, { ...patience, top: bytes });
    return 'gone';
  } catch {
    return 'stuck';
  }
}

interface Removal extends Patience {
  top: string;
}

async function removeDirectory(dir: string, removal: Removal): Promise<Removed> {
  const ends: Removed[] = [];
  for await (const entry of await opendir(asBytes(dir), { bufferSize: namesAtATime, encoding: 'latin1' })) {
    if (removal.signal.aborted || clockMs() > removal.untilMs) return 'unfinished';
    const path = `${dir}/${entry.name}`;
    const end = entry.isDirectory() ? await removeBelow(path, removal) : unlinked(path);
    // who may not remove one may remove none here
    if (end === 'stuck' && !entry.isDirectory()) return 'stuck';
    if (end !== 'gone') ends.push(end);
  }
  const [end] = ends.toSorted().toReversed();
  return end ?? done(() => rmdirSync(asBytes(dir)));
}

/** What lies too deep for a path is moved up, to be removed the next time. */
async function removeBelow(path: string, removal: Removal): Promise<Removed> {
  const isDeep = path.length > longestPath;
  if (isDeep) return done(() => renameSync(asBytes(path), asBytes(`${removal.top}.${randomUUID()}`)));
  return removeDirectory(path, removal).catch(() => 'stuck' as const);
}

function unlinked(path: string): Removed {
  return done(() => unlinkSync(asBytes(path)));
}

/** In here a path is its bytes, each as one character: a container's names need be no UTF-8. */
function asBytes(path: string): Buffer {
  return Buffer.from(path, 'latin1');
}

function done(work: () => void): Removed {
  try {
    work();
    return 'gone';
  } catch {
    return 'stuck';
  }
}

const namesAtATime = 256;

/** The system allows 4096. */
const longestPath = 3000;
