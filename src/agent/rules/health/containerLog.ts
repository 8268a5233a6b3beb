/** A piece of what a container wrote, as the engine kept it. */
export interface Written {
  text: string;
  /** True where the engine kept no more of it: the text may end in the middle of a secret. */
  cut: boolean;
}

/** Bytes of a line after which an engine begins another log entry. */
const splitBytes = 16 * 1024;

/** Bytes of a probe's output that an engine keeps; dots stand for the rest. */
const probeBytes = 4096;
const dots = '...';
/** Bytes that Podman keeps of it, with nothing in the place of the rest. */
const podmanProbeBytes = 500;

/** What an engine tells of a probe that it ended, and that was in the middle of a line. */
const endedInLine = /^Health check exceeded timeout \([^)]*\): [^]*[^\n]$/;

/** The output of a health probe. What is no UTF-8 came as replacements of three bytes, so it may be longer than was kept. */
export function probeOf(output: string): Written {
  const full = output.endsWith(dots) && Buffer.byteLength(output) >= probeBytes + dots.length;
  if (full) return { text: output.slice(0, -dots.length), cut: true };
  return { text: output, cut: isAsPodmanCuts(output) || endedInLine.test(output) };
}

/** What is no UTF-8 came as replacements here too: the last of them may be a character that was cut. */
function isAsPodmanCuts(output: string): boolean {
  const length = Buffer.byteLength(output);
  return length === podmanProbeBytes ? !output.endsWith('\n') : length > podmanProbeBytes && output.endsWith('\ufffd');
}

/**
 * The last entries of a log, lines that the engine split put together again: whole lines in the order in which they ended,
 * then what has no end. Of `bytes` with more than `entries` entries each stream's first line goes, whose head may be missing.
 */
export function logOf(bytes: Buffer, entries: number): Written[] {
  const all = piecesOf(bytes);
  const open = new Map<number, Piece[]>();
  const whole: Piece[] = [];
  const hidesEntries = ({ stream, bytes: { length } }: Piece) => stream === terminal && length >= splitBytes;
  const isTorn = all.length > entries || all.some(hidesEntries);
  for (const piece of isTorn ? withoutFirstLines(all) : all) {
    const line = [...(open.get(piece.stream) ?? []), piece];
    open.set(piece.stream, endsLine(piece) ? [] : line);
    if (endsLine(piece)) whole.push(...line);
  }
  return [whole, ...open.values()].filter((pieces) => pieces.length > 0).map(writtenOf);
}

/** What one of the container's streams wrote, as one entry of the log. */
interface Piece {
  stream: number;
  bytes: Buffer;
}

/** No number of a frame. */
const terminal = -1;

/** Entries come as frames of an 8-byte head (stream, length) and their bytes; those of a terminal come as they are. */
function piecesOf(bytes: Buffer): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at + 8 <= bytes.length;) {
    if (bytes.readUInt8(at) > 2 || bytes.readUIntBE(at + 1, 3) !== 0) return linesOf(bytes);
    const length = bytes.readUInt32BE(at + 4);
    pieces.push({ stream: bytes.readUInt8(at), bytes: bytes.subarray(at + 8, at + 8 + length) });
    at += 8 + length;
  }
  return pieces.length === 0 ? linesOf(bytes) : pieces;
}

function linesOf(bytes: Buffer): Piece[] {
  const pieces: Piece[] = [];
  for (let at = 0; at < bytes.length;) {
    const newline = bytes.indexOf('\n', at);
    const end = newline === -1 ? bytes.length : newline + 1;
    pieces.push({ stream: terminal, bytes: bytes.subarray(at, end) });
    at = end;
  }
  return pieces;
}

/** Of each stream: the head of its first line may be missing. */
function withoutFirstLines(pieces: Piece[]): Piece[] {
  const begun = new Set<number>();
  return pieces.filter((piece) => {
    if (begun.has(piece.stream)) return true;
    if (endsLine(piece)) begun.add(piece.stream);
    return false;
  });
}

function endsLine({ bytes }: Piece): boolean {
  return bytes.at(-1) === 0x0a;
}

function writtenOf(pieces: Piece[]): Written {
  const last = pieces.at(-1);
  const cut = last !== undefined && !endsLine(last) && last.bytes.length >= splitBytes;
  return { text: Buffer.concat(pieces.map(({ bytes }) => bytes)).toString(), cut };
}
