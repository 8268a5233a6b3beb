import { join } from 'node:path';
import { isQuiet, parseTrace, type Trace } from '../../rules/trace/trace.ts';
import { selectTracesForRemoval, type TraceFile, traceFileNameOf, traceFilesOf } from '../../rules/trace/traceFile.ts';
import { mkdir, readText } from '../files/syncFs.ts';
import { diskFault, isEEXIST } from '../../../core/errors.rules.ts';
import { removeStaleTemporaries, removeWithoutSync, writeWithoutSync } from '../files/durableFiles.ts';
import { readdirIfExists } from '../files/ifExists.ts';

/** Traces of recent ticks, in `traces/` of the state directory. */
export interface Traces {
  /**
   * Saves a trace and removes old ones, without sync. Returns the file of the one before, null without one. Throws
   * `DISK_WRITE_FAILED`.
   */
  save: (trace: Trace) => Promise<TraceFile | null>;
  /** All files, newest first; none when the directory is absent. */
  list: () => Promise<TraceFile[]>;
  /** Null for a file that vanished, cannot be read, or is empty after a power cut. */
  read: (file: TraceFile) => Promise<Trace | null>;
}

/** Opens the traces of a state directory; the first trace creates the directory. */
export function openTraces(stateDir: string): Traces {
  const dir = join(stateDir, 'traces');
  const pathOf = (file: TraceFile) => join(dir, traceFileNameOf(file));
  const list = async () => traceFilesOf(await readdirIfExists(dir));
  return {
    list,
    save: async (trace) => {
      await createDirectory(dir);
      await removeStaleTemporaries(dir);
      const existing = await list();
      const [previous = null] = existing;
      const file = { number: (previous?.number ?? 0) + 1, tick: trace.tick, quiet: isQuiet(trace) };
      await writeWithoutSync(pathOf(file), `${JSON.stringify(trace)}\n`, 0o600);
      for (const old of selectTracesForRemoval([file, ...existing])) await removeWithoutSync(pathOf(old));
      return previous;
    },
    read: async (file) => parseTrace(await readText(pathOf(file)).catch(() => '')),
  };
}

async function createDirectory(dir: string): Promise<void> {
  await mkdir(dir, { mode: 0o700 }).catch((error: unknown) => {
    if (!isEEXIST(error)) throw diskFault('write', dir, error);
  });
}
