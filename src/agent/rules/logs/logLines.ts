import type { LogPiece } from './logFrames.ts';

/** Characters after which a line that has not ended is shown, and goes on as another one. */
export const maxLineLength = 256 * 1024;

/** A line of a container's output, redacted, without its newline. */
export interface LogLine {
  stream: LogPiece['stream'];
  text: string;
}

/** A text that arrives in chunks, redacted: what of it is safe to show. */
interface RedactionStream {
  push: (chunk: Buffer) => string;
  end: () => string;
  endTruncated: () => string;
}

/** Where a log was cut. */
export interface LogCut {
  /** Pieces at its beginning that are not wanted. */
  skippedPieces?: number;
  /** Pieces after them that it had when it was cut; 0 for one that is whole. */
  oldPieces: number;
  /** Bytes of a piece that may end in the middle of a line. */
  splitBytes: number;
}

/** One stream of a container. */
interface OutputStream {
  redaction: RedactionStream;
  /** The redacted beginning of a line. */
  text: string;
  /** True while the rest of a line arrives whose beginning is missing. */
  isSkipping: boolean;
  /** The last piece. */
  last: Buffer;
}

/**
 * Makes redacted lines of the pieces of a log. Where the log was cut (`oldPieces` of it), the first line of each stream is left out:
 * its beginning may be missing, and with it the beginning of a secret.
 */
export class LogLines {
  readonly #streams = new Map<LogPiece['stream'], OutputStream>();
  readonly #redact: () => RedactionStream;
  readonly #splitBytes: number;
  #skippedPieces: number;
  #cutPieces: number;

  constructor(redact: () => RedactionStream, { skippedPieces = 0, oldPieces, splitBytes }: LogCut) {
    this.#redact = redact;
    this.#splitBytes = splitBytes;
    this.#skippedPieces = skippedPieces;
    this.#cutPieces = oldPieces;
  }

  /** The lines that are complete with this piece. */
  push({ stream, bytes }: LogPiece): LogLine[] {
    this.#skippedPieces -= 1;
    if (this.#skippedPieces >= 0) return [];
    const output = this.#streams.get(stream) ?? this.#open(stream);
    this.#cutPieces -= 1;
    if (output.isSkipping) {
      output.isSkipping = !endsLine(bytes);
      return [];
    }
    output.last = bytes;
    return takeLines(stream, output, output.redaction.push(bytes));
  }

  /** What is left when the log has ended: lines without a newline, of which the engine may have cut the rest. */
  end(): LogLine[] {
    return [...this.#streams].flatMap(([stream, output]) => {
      const isTruncated = !endsLine(output.last) && output.last.length >= this.#splitBytes;
      const lines = takeLines(
        stream,
        output,
        isTruncated ? `${output.redaction.endTruncated()}...` : output.redaction.end(),
      );
      return output.text === '' ? lines : [...lines, { stream, text: output.text }];
    });
  }

  #open(stream: LogPiece['stream']): OutputStream {
    const output = { redaction: this.#redact(), text: '', isSkipping: this.#cutPieces > 0, last: Buffer.alloc(0) };
    this.#streams.set(stream, output);
    return output;
  }
}

function takeLines(stream: LogPiece['stream'], output: OutputStream, added: string): LogLine[] {
  const lines = (output.text + added).split('\n');
  const rest = lines.pop() ?? '';
  const isLong = rest.length > maxLineLength;
  output.text = isLong ? '' : rest;
  if (isLong) lines.push(rest);
  return lines.map((text) => ({ stream, text: text.replace(/\r$/, '') }));
}

function endsLine(bytes: Buffer): boolean {
  return bytes.at(-1) === 0x0a;
}
