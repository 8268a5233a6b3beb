import { join } from 'node:path';
import { isQuiet, parseTrace, type Trace } from '../../rules/trace/trace.ts';
import { nameOf, outdated, traceFilesOf, type TraceFile } from '../../rules/trace/files.ts';
import { mkdir, readText } from './atOnce.ts';
import { diskFault, isEEXIST, removeLazily, sweepTemporaries, writeLazily } from './files.ts';
import { namesIfThere } from './ifThere.ts';

/** The traces of the newest ticks, in `traces/` of the state directory. */
export interface Traces {
  /** Adds one and lets the oldest go; nothing waits for the disk. Throws `DISK_WRITE_FAILED`. */
  keep: (trace: Trace) => Promise<void>;
  /** All files, newest first; none where there is no directory. */
  list: () => Promise<TraceFile[]>;
  /** Null for a file that vanished or cannot be read, or that a power cut left empty. */
  read: (file: TraceFile) => Promise<Trace | null>;
}

/** Opens the traces of a state directory; the directory is made with the first trace. */
export function openTraces(stateDir: string): Traces {
  const dir = join(stateDir, 'traces');
  const pathOf = (file: TraceFile) => join(dir, nameOf(file));
  const list = async () => traceFilesOf(await namesIfThere(dir));
  return {
    list,
    keep: async (trace) => {
      await make(dir);
      await sweepTemporaries(dir);
      const before = await list();
      const file = { number: (before[0]?.number ?? 0) + 1, tick: trace.tick, quiet: isQuiet(trace) };
      await writeLazily(pathOf(file), `${JSON.stringify(trace)}\n`, 0o600);
      for (const old of outdated([file, ...before])) await removeLazily(pathOf(old));
    },
    read: async (file) => parseTrace(await readText(pathOf(file)).catch(() => '')),
  };
}

async function make(dir: string): Promise<void> {
  await mkdir(dir, { mode: 0o700 }).catch((error: unknown) => {
    if (!isEEXIST(error)) throw diskFault('write', dir, error);
  });
}
