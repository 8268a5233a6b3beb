import { join } from 'node:path';
import { removeDurably, writeAllDurably, writeDurably } from '../files/durableFiles.ts';
import { statIfExists, readTextIfExists } from '../files/ifExists.ts';

/** Contains `.env`, so it is as secret and is removed with it. */
const BACKUP_FILE = '.deployd.last-good.json';

/**
 * Saves files of a release in one file (0600), so that a release that is rendered again can be reverted. An existing
 * backup stays, because no apply has succeeded since; an incomplete release is not saved. Throws `DISK_WRITE_FAILED`.
 */
export async function saveBackup(dir: string, { required, optional }: BackedUpFiles): Promise<void> {
  if (await hasBackup(dir)) return;
  const read = async (name: string) => [name, await readTextIfExists(join(dir, name))] as const;
  const files = await Promise.all([...required, ...optional].map(read));
  const found = files.filter(([, text]) => text !== null);
  if (required.some((name) => !found.some(([each]) => each === name))) return;
  await writeDurably(join(dir, BACKUP_FILE), JSON.stringify(Object.fromEntries(found)), 0o600);
}

/** Files that a complete release must have, and files that it may have. */
interface BackedUpFiles {
  required: readonly string[];
  optional: readonly string[];
}

/** Restores and removes the backup; a damaged backup is only removed. Throws `DISK_WRITE_FAILED`. */
export async function restoreBackup(dir: string): Promise<void> {
  if (!(await hasBackup(dir))) return;
  const files = parseBackup((await readTextIfExists(join(dir, BACKUP_FILE))) ?? '');
  if (files !== null) await writeAllDurably(dir, files, 0o600);
  await dropBackup(dir);
}

/** The text of a file in the backup; null without it, or when the backup is damaged. */
export async function readBackedUp(dir: string, name: string): Promise<string | null> {
  const text = await readTextIfExists(join(dir, BACKUP_FILE));
  return (text !== null && parseBackup(text)?.[name]) || null;
}

/** Removes the backup. Throws `DISK_WRITE_FAILED`. */
export async function dropBackup(dir: string): Promise<void> {
  if (await hasBackup(dir)) await removeDurably(join(dir, BACKUP_FILE));
}

async function hasBackup(dir: string): Promise<boolean> {
  return (await statIfExists(join(dir, BACKUP_FILE))) !== null;
}

/** The files by name; null when the backup is damaged. Does not rethrow the parser's error, which quotes the input. */
function parseBackup(text: string): Record<string, string> | null {
  try {
    return JSON.parse(text) as Record<string, string> | null;
  } catch {
    return null;
  }
}
