import { openTraces, type Traces } from '../adapters/state/traces.ts';
import type { Settings } from '../config/settings.ts';
import type { Trace } from '../rules/trace/trace.ts';
import type { TraceFile } from '../rules/trace/traceFile.ts';
import { formatTraceLine, formatTrace } from '../rules/trace/formatTrace.ts';
import type { Output } from './status.ts';

/** Options of `deployd trace`. */
export interface TraceOptions {
  /** Id of a tick or its prefix; by default the newest tick that was not quiet. */
  tick: string | undefined;
  list: boolean;
  json: boolean;
}

/** Other traces that are listed below one. */
const MAX_OTHERS = 5;

/** `deployd trace`: exit 0 when the trace exists, else 1. Uses no network or lock and writes nothing. */
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
  if (file === undefined) return `no trace of a tick ${tick}: deployd trace --list shows which there are`;
  if (matching.length > 1)
    return `${matching.length} ticks begin with ${tick}: ${matching.map((each) => each.tick).join(', ')}`;
  return (await traces.read(file)) ?? `the trace of tick ${file.tick} cannot be read: a power cut may have emptied it`;
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
