import { maxPieceBytes, type LogPiece } from '../logs/logFrames.ts';

/** A part of a container's output, as the engine kept it. */
export interface LogExcerpt {
  text: string;
  /** True when the engine kept no more: the text may end in the middle of a secret. */
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
