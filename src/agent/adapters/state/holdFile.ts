import { join } from 'node:path';
import { diskFault, isENOENT } from '../../../core/errors.rules.ts';
import { formatHold, type Hold, type HoldFile } from '../../rules/schedule/hold.ts';
import { removeDurably, writeDurably } from '../files/durableFiles.ts';
import { statIfExists } from '../files/ifExists.ts';
import { readText } from '../files/syncFs.ts';

/** The file of a hold, null without one. It is beside the state, which only a tick writes: a hold may be made while one runs. */
export async function readHold(stateDir: string): Promise<HoldFile | null> {
  const path = pathIn(stateDir);
  const stats = await statIfExists(path);
  if (stats === null) return null;
  const text = await readText(path).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  });
  return text === null ? null : { text, modifiedMs: stats.mtimeMs };
}

/** Makes a hold, in place of one that stands. Throws `DISK_WRITE_FAILED`. */
export async function writeHold(stateDir: string, hold: Hold): Promise<void> {
  await writeDurably(pathIn(stateDir), formatHold(hold), 0o600);
}

/** Ends a hold; there may be none. Throws `DISK_WRITE_FAILED`. */
export async function removeHold(stateDir: string): Promise<void> {
  await removeDurably(pathIn(stateDir));
}

/**
 * Makes a hold from the future, under a clock that has been set back since, one that was made now. It is written anew, since only
 * its owner may change its time. Throws faults of the disk.
 */
export async function countHoldFromNow(stateDir: string, now: Date): Promise<void> {
  const file = await readHold(stateDir);
  if (file !== null && file.modifiedMs > now.getTime()) await writeDurably(pathIn(stateDir), file.text, 0o600);
}

function pathIn(stateDir: string): string {
  return join(stateDir, 'hold.json');
}
