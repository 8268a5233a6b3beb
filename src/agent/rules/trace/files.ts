/** The file of one trace: numbered, so that a clock that was set back hides nothing. */
export interface TraceFile {
  number: number;
  tick: string;
  quiet: boolean;
}

/** How many of the newest traces are kept, and how many of the newest that were not quiet. */
export const keptTraces = 50;

/** So much is removed at a time, so that a tick never has much of it to do. */
const mostRemoved = 20;

/** `000012-<tick>.json`, or `….quiet.json`. */
export function nameOf({ number, tick, quiet }: TraceFile): string {
  return `${String(number).padStart(6, '0')}-${tick}${quiet ? '.quiet' : ''}.json`;
}

/** The traces among the names of a directory, newest first. */
export function traceFilesOf(names: readonly string[]): TraceFile[] {
  const files = names.flatMap((name): TraceFile[] => {
    const [, number, tick = '', quiet] = /^(\d{6,15})-([0-9a-f-]{36})(\.quiet)?\.json$/.exec(name) ?? [];
    return number === undefined ? [] : [{ number: Number(number), tick, quiet: quiet !== undefined }];
  });
  return files.sort((a, b) => b.number - a.number);
}

/** Of all files, newest first, those that go: neither among the newest nor among the newest that were not quiet. */
export function outdated(files: readonly TraceFile[]): TraceFile[] {
  const telling = files.filter(({ quiet }) => !quiet).slice(0, keptTraces);
  return files
    .slice(keptTraces)
    .filter((file) => !telling.includes(file))
    .slice(-mostRemoved);
}
