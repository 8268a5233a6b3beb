import { dirname } from 'node:path';
import { isENOENT } from '../../../platform/errors/diskFault.ts';
import { removeStaleTemporaries, writeWithoutSync } from '../files/durableFiles.ts';
import { readText } from '../files/syncFs.ts';

/** The metrics file that a textfile collector reads (spec §20.1). */
export interface MetricsFile {
  /** Its text; empty while there is none. Throws the error of the file system. */
  read: () => Promise<string>;
  /** Replaces it, readable by everybody, without sync. Throws `DISK_WRITE_FAILED`. */
  write: (text: string) => Promise<void>;
}

/** Opens the metrics file at a path, whose directory must exist. */
export function openMetricsFile(path: string): MetricsFile {
  return {
    read: () =>
      readText(path).catch((error: unknown) => {
        if (isENOENT(error)) return '';
        throw error as Error;
      }),
    write: async (text) => {
      await removeStaleTemporaries(dirname(path));
      await writeWithoutSync(path, text, 0o644);
    },
  };
}
