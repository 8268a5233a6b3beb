/** A part of a container's output, as the engine kept it. */
export interface LogExcerpt {
  text: string;
  /** True when the engine kept no more: the text may end in the middle of a secret. */
  truncated: boolean;
}

/** Bytes of a line after which an engine starts another log entry. */
const maxEntryBytes = 16 * 1024;

/** Bytes of a probe's output that Docker keeps, followed by `truncationMark`. */
const maxProbeBytes = 4096;
const truncationMark = '...';
/** Bytes of a probe's output that Podman keeps, without a mark. */
const maxPodmanProbeBytes = 500;

/** Output of a probe that the engine ended in the middle of a line. */
const timedOutInLine = /^Health check exceeded timeout \([^)]*\): [^]*[^\n]$/;

/**
 * Parses the output of a health probe. Invalid UTF-8 arrives as replacement characters of three bytes, so the text may be
 * longer than the limit.
 */
export function parseProbeOutput(output: string): LogExcerpt {
  const isMarked =
    output.endsWith(truncationMark) && Buffer.byteLength(output) >= maxProbeBytes + truncationMark.length;
  if (isMarked) return { text: output.slice(0, -truncationMark.length), truncated: true };
  return { text: output, truncated: isTruncatedByPodman(output) || timedOutInLine.test(output) };
}

/** A replacement character at the end may be a truncated character. */
function isTruncatedByPodman(output: string): boolean {
  const length = Buffer.byteLength(output);
  return length === maxPodmanProbeBytes
    ? !output.endsWith('\n')
    : length > maxPodmanProbeBytes && output.endsWith('\ufffd');
}

/**
 * Parses the last entries of a log and joins the lines that the engine split: complete lines in the order of their ends, then
 * the incomplete ones. With more than `maxEntries` entries, each stream's first line is dropped: its start may be missing.
 */
export function parseContainerLog(bytes: Buffer, maxEntries: number): LogExcerpt[] {
  const all = parseEntries(bytes);
  const incomplete = new Map<number, LogEntry[]>();
  const complete: LogEntry[] = [];
  const hidesEntries = ({ stream, bytes: { length } }: LogEntry) =>
    stream === terminalStream && length >= maxEntryBytes;
  const isIncomplete = all.length > maxEntries || all.some(hidesEntries);
  for (const entry of isIncomplete ? withoutFirstLines(all) : all) {
    const line = [...(incomplete.get(entry.stream) ?? []), entry];
    incomplete.set(entry.stream, endsLine(entry) ? [] : line);
    if (endsLine(entry)) complete.push(...line);
  }
  return [complete, ...incomplete.values()].filter((entries) => entries.length > 0).map(logExcerptOf);
}

/** One entry of the log, written by one stream of the container. */
interface LogEntry {
  stream: number;
  bytes: Buffer;
}

/** Never a stream number of a frame. */
const terminalStream = -1;

/** Entries are frames with an 8-byte header (stream, length); the output of a terminal has no frames. */
function parseEntries(bytes: Buffer): LogEntry[] {
  const entries: LogEntry[] = [];
  for (let offset = 0; offset + 8 <= bytes.length;) {
    if (bytes.readUInt8(offset) > 2 || bytes.readUIntBE(offset + 1, 3) !== 0) return splitLines(bytes);
    const length = bytes.readUInt32BE(offset + 4);
    entries.push({ stream: bytes.readUInt8(offset), bytes: bytes.subarray(offset + 8, offset + 8 + length) });
    offset += 8 + length;
  }
  return entries.length === 0 ? splitLines(bytes) : entries;
}

function splitLines(bytes: Buffer): LogEntry[] {
  const entries: LogEntry[] = [];
  for (let offset = 0; offset < bytes.length;) {
    const newline = bytes.indexOf('\n', offset);
    const end = newline === -1 ? bytes.length : newline + 1;
    entries.push({ stream: terminalStream, bytes: bytes.subarray(offset, end) });
    offset = end;
  }
  return entries;
}

/** Drops each stream's first line, whose start may be missing. */
function withoutFirstLines(entries: LogEntry[]): LogEntry[] {
  const started = new Set<number>();
  return entries.filter((entry) => {
    if (started.has(entry.stream)) return true;
    if (endsLine(entry)) started.add(entry.stream);
    return false;
  });
}

function endsLine({ bytes }: LogEntry): boolean {
  return bytes.at(-1) === 0x0a;
}

function logExcerptOf(entries: LogEntry[]): LogExcerpt {
  const last = entries.at(-1);
  const truncated = last !== undefined && !endsLine(last) && last.bytes.length >= maxEntryBytes;
  return { text: Buffer.concat(entries.map(({ bytes }) => bytes)).toString(), truncated };
}
