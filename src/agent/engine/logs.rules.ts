/** A part of a container's output, as the engine kept it. */
export interface LogExcerpt {
  text: string;
  /** True when the engine discarded the rest: the text may end in the middle of a secret. */
  truncated: boolean;
}

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
 * The excerpts of the last pieces of a log, with the lines joined that the engine split: complete lines in the order of their ends,
 * then the incomplete ones. With more than `maxPieces`, each stream's first line is dropped: its start may be missing. A line
 * without an end whose last piece has `splitBytes` or more is truncated.
 */
export function logExcerptsOf(
  pieces: readonly LogPiece[],
  { maxPieces, splitBytes = maxPieceBytes }: { maxPieces: number; splitBytes?: number },
): LogExcerpt[] {
  const incomplete = new Map<LogPiece['stream'], LogPiece[]>();
  const complete: LogPiece[] = [];
  const hidesPieces = ({ stream, bytes: { length } }: LogPiece) => stream === 'terminal' && length >= maxPieceBytes;
  const isIncomplete = pieces.length > maxPieces || pieces.some(hidesPieces);
  for (const piece of isIncomplete ? withoutFirstLines(pieces) : pieces) {
    const line = [...(incomplete.get(piece.stream) ?? []), piece];
    incomplete.set(piece.stream, endsLine(piece) ? [] : line);
    if (endsLine(piece)) complete.push(...line);
  }
  return [complete, ...incomplete.values()]
    .filter((line) => line.length > 0)
    .map((line) => logExcerptOf(line, splitBytes));
}

/** Drops each stream's first line, whose start may be missing. */
function withoutFirstLines(pieces: readonly LogPiece[]): LogPiece[] {
  const started = new Set<LogPiece['stream']>();
  return pieces.filter((piece) => {
    if (started.has(piece.stream)) return true;
    if (endsLine(piece)) started.add(piece.stream);
    return false;
  });
}

function endsLine({ bytes }: LogPiece): boolean {
  return bytes.at(-1) === 0x0a;
}

function logExcerptOf(pieces: LogPiece[], splitBytes: number): LogExcerpt {
  const last = pieces.at(-1);
  const truncated = last !== undefined && !endsLine(last) && last.bytes.length >= splitBytes;
  return { text: Buffer.concat(pieces.map(({ bytes }) => bytes)).toString(), truncated };
}

/** A piece of a container's output as the engine keeps it: at most 16 KiB, with its newline if it ends a line. */
export interface LogPiece {
  stream: 'stdout' | 'stderr' | 'terminal';
  bytes: Buffer;
}

/** Bytes of a line after which an engine begins another piece. */
export const maxPieceBytes = 16 * 1024;

const streams = ['stdout', 'stdout', 'stderr'] as const;
const headerBytes = 8;

/**
 * Splits a log of the engine into pieces as it arrives. Each piece is a frame whose 8-byte header contains stream and
 * length. The output of a terminal has no frames: its pieces are lines, or the received part of a line that is longer
 * than a piece.
 */
export class LogFrames {
  #rest = Buffer.alloc(0);
  #hasFrames: boolean | null = null;

  /** The pieces that are complete with this chunk. */
  push(chunk: Buffer): LogPiece[] {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    if (this.#rest.length < headerBytes) return [];
    this.#hasFrames ??= streamOf(this.#rest) !== null;
    return this.#hasFrames ? this.#takeFrames() : this.#takeLines();
  }

  /** The unfinished line of a terminal; an incomplete frame is ignored. */
  end(): LogPiece[] {
    const bytes = this.#rest;
    return this.#hasFrames === true || bytes.length === 0 ? [] : [...this.#takeLines(), ...terminalPieces(this.#rest)];
  }

  #takeFrames(): LogPiece[] {
    const pieces: LogPiece[] = [];
    for (;;) {
      const stream = streamOf(this.#rest);
      const end = headerBytes + (stream === null ? 0 : this.#rest.readUInt32BE(4));
      if (stream === null || this.#rest.length < end) return pieces;
      pieces.push({ stream, bytes: this.#rest.subarray(headerBytes, end) });
      this.#rest = this.#rest.subarray(end);
    }
  }

  #takeLines(): LogPiece[] {
    const endOfLines = this.#rest.lastIndexOf('\n') + 1;
    const end = this.#rest.length - endOfLines < maxPieceBytes ? endOfLines : this.#rest.length;
    const pieces = this.#rest
      .subarray(0, end)
      .toString('latin1')
      .split(/(?<=\n)/);
    this.#rest = this.#rest.subarray(end);
    return pieces.flatMap((text) => terminalPieces(Buffer.from(text, 'latin1')));
  }
}

function terminalPieces(bytes: Buffer): LogPiece[] {
  return bytes.length === 0 ? [] : [{ stream: 'terminal', bytes }];
}

/** The stream of the frame that begins here; null when none does. */
function streamOf(bytes: Buffer): LogPiece['stream'] | null {
  if (bytes.length < headerBytes || bytes.readUIntBE(1, 3) !== 0) return null;
  return streams[bytes.readUInt8(0)] ?? null;
}
