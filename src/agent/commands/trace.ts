import { openTraces, type Traces } from '../adapters/files/traces.ts';
import type { Settings } from '../config/settings.ts';
import type { Trace } from '../rules/trace/trace.ts';
import type { TraceFile } from '../rules/trace/files.ts';
import { traceLine, traceText } from '../rules/trace/text.ts';
import type { Output } from './status.ts';

/** Which trace is wanted, and in which form. */
export interface TraceOptions {
  /** A tick's id or how it begins; the newest that was not quiet where left out. */
  tick: string | undefined;
  list: boolean;
  json: boolean;
}

/** How many others are named below a trace. */
const FEW = 5;

/** `deployd trace`: exit 0 when there is what was asked for, else 1. No network, no lock, no writing. */
export async function trace(settings: Settings, options: TraceOptions, out: Output): Promise<number> {
  const traces = openTraces(settings.state_dir);
  const files = await traces.list();
  return options.list ? tellAll(traces, files, { ...options, out }) : tellOne(traces, files, { ...options, out });
}

type Telling = TraceOptions & { out: Output };

async function tellAll(traces: Traces, files: TraceFile[], { json, out }: Telling): Promise<number> {
  const all = await readable(traces, files);
  out.log(json ? JSON.stringify(all, null, 2) : all.map(traceLine).join('\n') || NONE);
  return all.length > 0 ? 0 : 1;
}

async function tellOne(traces: Traces, files: TraceFile[], { tick, json, out }: Telling): Promise<number> {
  const chosen = tick === undefined ? await newest(traces, files) : await named(traces, files, tick);
  if (typeof chosen === 'string') {
    out.error(chosen);
    return 1;
  }
  out.log(json ? JSON.stringify(chosen, null, 2) : traceText(chosen));
  if (tick === undefined && !json) for (const line of await others(traces, files, chosen)) out.log(line);
  return 0;
}

const NONE = 'no tick has left a trace yet';

/** The newest that has something to tell, else the newest. */
async function newest(traces: Traces, files: TraceFile[]): Promise<Trace | string> {
  const telling = files.filter(({ quiet }) => !quiet);
  for (const file of [...telling, ...files]) {
    const found = await traces.read(file);
    if (found !== null) return found;
  }
  return NONE;
}

async function named(traces: Traces, files: TraceFile[], tick: string): Promise<Trace | string> {
  const fitting = files.filter((file) => file.tick.startsWith(tick));
  const [file] = fitting;
  if (file === undefined) return `no trace of a tick ${tick}: deployd trace --list shows which there are`;
  if (fitting.length > 1)
    return `${fitting.length} ticks begin with ${tick}: ${fitting.map((each) => each.tick).join(', ')}`;
  return (await traces.read(file)) ?? `the trace of tick ${file.tick} cannot be read: a power cut may have emptied it`;
}

async function others(traces: Traces, files: TraceFile[], chosen: Trace): Promise<string[]> {
  const rest = await readable(traces, files.filter((file) => file.tick !== chosen.tick).slice(0, FEW));
  return rest.length === 0
    ? []
    : ['', 'Newest others (deployd trace TICK, deployd trace --list)', ...rest.map(traceLine)];
}

async function readable(traces: Traces, files: TraceFile[]): Promise<Trace[]> {
  return (await Promise.all(files.map(traces.read))).filter((each) => each !== null);
}
