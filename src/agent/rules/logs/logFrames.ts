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
 * Takes a log of the engine apart as it arrives. Each piece is a frame whose header of 8 bytes names stream and length; the output of
 * a terminal has no frames, and its pieces are lines, or what has arrived of a line that is longer than a piece.
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

  /** What a terminal has not ended with a newline; a frame that is not complete counts for nothing. */
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
