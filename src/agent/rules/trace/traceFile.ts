/** The file of one trace. It is numbered, so that the order does not depend on the clock. */
export interface TraceFile {
  number: number;
  tick: string;
  quiet: boolean;
}

/** Number of newest traces to keep, and of newest traces that are not quiet. */
export const maxTraces = 50;

/** Limits the work of a single tick. */
const maxRemovedAtOnce = 20;

/** `000012-<tick>.json`, or `….quiet.json` for a quiet tick. */
export function traceFileNameOf({ number, tick, quiet }: TraceFile): string {
  return `${String(number).padStart(6, '0')}-${tick}${quiet ? '.quiet' : ''}.json`;
}

/** The trace files among the names of a directory, newest first. */
export function traceFilesOf(names: readonly string[]): TraceFile[] {
  const files = names.flatMap((name): TraceFile[] => {
    const [, number, tick = '', quiet] = /^(\d{6,15})-([0-9a-f-]{36})(\.quiet)?\.json$/.exec(name) ?? [];
    return number === undefined ? [] : [{ number: Number(number), tick, quiet: quiet !== undefined }];
  });
  return files.sort((a, b) => b.number - a.number);
}

/** Selects the files to remove from all, newest first: neither the newest nor the newest that are not quiet. */
export function selectTracesForRemoval(files: readonly TraceFile[]): TraceFile[] {
  const notQuiet = files.filter(({ quiet }) => !quiet).slice(0, maxTraces);
  return files
    .slice(maxTraces)
    .filter((file) => !notQuiet.includes(file))
    .slice(-maxRemovedAtOnce);
}
