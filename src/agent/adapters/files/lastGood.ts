import { join } from 'node:path';
import { removeDurably, writeAllDurably, writeDurably } from './files.ts';
import { statsIfThere, textIfThere } from './ifThere.ts';

/** Holds `.env` too, so it is as secret and goes with it. */
const FILE = '.deployd.last-good.json';

/**
 * Keeps files of a release as they are, in one file (0600): the way back of a release that is rendered anew while it is
 * applied. What is kept already stays, for since then nothing succeeded; of a release that is not whole nothing is
 * kept. Throws `DISK_WRITE_FAILED`.
 */
export async function keepLastGood(dir: string, { needed, more }: Names): Promise<void> {
  if (await hasLastGood(dir)) return;
  const read = async (name: string) => [name, await textIfThere(join(dir, name))] as const;
  const files = await Promise.all([...needed, ...more].map(read));
  const found = files.filter(([, text]) => text !== null);
  if (needed.some((name) => !found.some(([each]) => each === name))) return;
  await writeDurably(join(dir, FILE), JSON.stringify(Object.fromEntries(found)), 0o600);
}

/** Files without which a release is not whole, and those that it may have. */
interface Names {
  needed: readonly string[];
  more: readonly string[];
}

/** Puts what was kept back in its place; what nobody can read is as good as none. Throws `DISK_WRITE_FAILED`. */
export async function restoreLastGood(dir: string): Promise<void> {
  if (!(await hasLastGood(dir))) return;
  const files = filesIn((await textIfThere(join(dir, FILE))) ?? '');
  if (files !== null) await writeAllDurably(dir, files, 0o600);
  await dropLastGood(dir);
}

/** Lets go of what was kept. Throws `DISK_WRITE_FAILED`. */
export async function dropLastGood(dir: string): Promise<void> {
  if (await hasLastGood(dir)) await removeDurably(join(dir, FILE));
}

async function hasLastGood(dir: string): Promise<boolean> {
  return (await statsIfThere(join(dir, FILE))) !== null;
}

/** By name; null where it was damaged. The parser's own error would quote what it read. */
function filesIn(text: string): Record<string, string> | null {
  try {
    return JSON.parse(text) as Record<string, string> | null;
  } catch {
    return null;
  }
}
