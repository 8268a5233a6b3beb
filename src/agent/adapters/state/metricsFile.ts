import { dirname } from 'node:path';
import { removeStaleTemporaries, writeWithoutSync } from '../files/durableFiles.ts';
import { readTextIfExists } from '../files/ifExists.ts';

/** The metrics file that a textfile collector reads (spec §20.1). */
export interface MetricsFile {
  /** Its text; empty while there is none. Throws a fault of the disk. */
  read: () => Promise<string>;
  /** Replaces it, readable by everybody, without sync. Throws `DISK_WRITE_FAILED`. */
  write: (text: string) => Promise<void>;
}

/** Opens the metrics file at a path, whose directory must exist. */
export function openMetricsFile(path: string): MetricsFile {
  return {
    read: async () => (await readTextIfExists(path)) ?? '',
    write: async (text) => {
      await writeWithoutSync(path, text, 0o644);
      await removeStaleTemporaries(dirname(path));
    },
  };
}
