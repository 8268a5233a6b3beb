import { join } from 'node:path';
import { outcomeOf } from '../../../machines/fault.ts';
import { diskFault, isEEXIST } from '../../core/errors.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Output, Terminal } from '../journal/terminal.ts';
import {
  isQuiet,
  parseTrace,
  selectTracesForRemoval,
  type Trace,
  type TraceFile,
  traceFileNameOf,
  traceFilesOf,
} from '../journal/trace.rules.ts';
import { removeStaleTemporaries, removeWithoutSync, writeWithoutSync } from '../state/durableFiles.ts';
import { mkdir, readdirIfExists, readText } from '../state/fileSystem.ts';
import { readHistory } from '../state/stateFile.ts';
import { formatTrace, formatTraceLine } from './formatTrace.rules.ts';
import { formatHistory } from './history.rules.ts';

/** Options of `deployd trace`. */
export interface TraceOptions {
  /** Id of a tick or its prefix; by default the newest tick that was not quiet. */
  tick: string | undefined;
  list: boolean;
  json: boolean;
}

/** Other traces that are listed below it. */
const MAX_OTHERS = 5;

/**
 * `deployd trace`: exits with 0 when the trace exists, otherwise with 1. Uses no network or lock and writes nothing.
 */
export async function trace(settings: Settings, options: TraceOptions, out: Output): Promise<number> {
  const traces = openTraces(settings.state_dir);
  const files = await traces.list();
  return options.list ? printAll(traces, files, { ...options, out }) : printOne(traces, files, { ...options, out });
}

type PrintOptions = TraceOptions & { out: Output };

async function printAll(traces: Traces, files: TraceFile[], { json, out }: PrintOptions): Promise<number> {
  const all = await readTraces(traces, files);
  out.log(json ? JSON.stringify(all, null, 2) : all.map(formatTraceLine).join('\n') || NONE);
  return all.length > 0 ? 0 : 1;
}

async function printOne(traces: Traces, files: TraceFile[], { tick, json, out }: PrintOptions): Promise<number> {
  const chosen = tick === undefined ? await readNewest(traces, files) : await readByTick(traces, files, tick);
  if (typeof chosen === 'string') {
    out.error(chosen);
    return 1;
  }
  out.log(json ? JSON.stringify(chosen, null, 2) : formatTrace(chosen));
  if (tick === undefined && !json) for (const line of await otherTraces(traces, files, chosen)) out.log(line);
  return 0;
}

const NONE = 'no tick has left a trace yet';

/** The newest readable trace that is not quiet, else the newest. */
async function readNewest(traces: Traces, files: TraceFile[]): Promise<Trace | string> {
  const notQuiet = files.filter(({ quiet }) => !quiet);
  for (const file of [...notQuiet, ...files]) {
    const trace = await traces.read(file);
    if (trace !== null) return trace;
  }
  return NONE;
}

async function readByTick(traces: Traces, files: TraceFile[], tick: string): Promise<Trace | string> {
  const matching = files.filter((file) => file.tick.startsWith(tick));
  const [file] = matching;
  if (file === undefined) return `no trace of a tick ${tick}: deployd trace --list lists the traces`;
  if (matching.length > 1)
    return `${matching.length} ticks begin with ${tick}: ${matching.map((each) => each.tick).join(', ')}`;
  return (
    (await traces.read(file)) ??
    `the trace of tick ${file.tick} cannot be read: it may have been lost when the host lost power`
  );
}

async function otherTraces(traces: Traces, files: TraceFile[], chosen: Trace): Promise<string[]> {
  const rest = await readTraces(traces, files.filter((file) => file.tick !== chosen.tick).slice(0, MAX_OTHERS));
  return rest.length === 0
    ? []
    : ['', 'Newest others (deployd trace TICK, deployd trace --list)', ...rest.map(formatTraceLine)];
}

async function readTraces(traces: Traces, files: TraceFile[]): Promise<Trace[]> {
  return (await Promise.all(files.map(traces.read))).filter((each) => each !== null);
}

/** Traces of recent ticks, in `traces/` of the state directory. */
export interface Traces {
  /**
   * Saves a trace and removes old ones, without sync. Returns the file of the previous trace, null without one. Throws
   * `DISK_WRITE_FAILED`.
   */
  save: (trace: Trace) => Promise<TraceFile | null>;
  /** All files, newest first; empty when the directory is absent. */
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

/** Options of `deployd history`. */
export interface HistoryOptions {
  /** Maximum number of entries, the newest. */
  limit: number;
  json: boolean;
}

/** `deployd history`: exits with 0, also without entries. Uses no network or lock and writes nothing. */
export async function history(
  { state_dir }: Pick<Settings, 'state_dir'>,
  { limit, json }: HistoryOptions,
  { terminal, out }: { terminal: Terminal; out: Output },
): Promise<number> {
  try {
    const entries = (await readHistory(state_dir)).slice(0, limit);
    const none = 'nothing that matters has happened on this host yet';
    if (json) out.log(JSON.stringify(entries, null, 2));
    else await terminal.show(formatHistory(entries, terminal.paint) || none);
    return 0;
  } catch (error) {
    for (const line of outcomeOf(error, false).lines) out.error(line);
    return 1;
  }
}
