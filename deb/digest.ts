import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';

/** Hex sha256. */
export function digestOf(content: Buffer | string): string {
  return createHash('sha256').update(content).digest('hex');
}

/** Writes `<file>.sha256` beside a file, in the form of sha256sum. */
export async function writeDigest(file: string): Promise<void> {
  await writeFile(`${file}.sha256`, `${digestOf(await readFile(file))}  ${basename(file)}\n`);
}
