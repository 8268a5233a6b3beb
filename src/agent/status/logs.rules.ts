import type { LogPiece } from '../engine/logs.rules.ts';

/** Number of characters after which an unfinished line is shown; the rest is shown as another line. */
const maxLineLength = 256 * 1024;

/** A line of a container's output, redacted, without its newline. */
export interface LogLine {
  stream: LogPiece['stream'];
  text: string;
}

/** A text that arrives in chunks, redacted: the part that is safe to show. */
interface RedactionStream {
  push: (chunk: Buffer) => string;
  end: () => string;
  endTruncated: () => string;
}

/** Where a log was cut. */
interface LogCut {
  /** Number of unneeded pieces at its beginning. */
  skippedPieces?: number;
  /** Number of following pieces at the time of the cut; 0 for a complete log. */
  oldPieces: number;
  /** Size in bytes of a piece that may end in the middle of a line. */
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
 * Converts the pieces of a log to redacted lines. If the log was cut (`oldPieces` of it), the first line of each stream
 * is left out: its beginning may be missing, and with it the beginning of a secret.
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

  /** The rest of an ended log: lines without a newline, which the engine may have cut. */
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

const unitMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Parses the start time of a log query: an age (`90s`, `10m`, `2h`, `3d`), or a date and time, in the time zone of this
 * host unless the text has one. Null for another text.
 */
export function logSinceOf(text: string, now: Date): Date | null {
  const [, number, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  if (number !== undefined) return new Date(now.getTime() - Number(number) * unitMs[unit as keyof typeof unitMs]);
  const isTime = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)?$/.test(text);
  const time = new Date(text.replace(' ', 'T'));
  return isTime && !Number.isNaN(time.getTime()) ? time : null;
}
