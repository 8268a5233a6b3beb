import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { monotonicMs } from '../../core/clock.ts';

/** The terminal of a live line. */
export type LineTerminal = Stderr & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * A line at the bottom of the terminal that is redrawn in place.
 * - It is erased before each journal line and drawn again below it.
 * - It never wraps, and `close` erases it.
 */
export class LiveLine {
  readonly #terminal: LineTerminal;
  #text = '';
  #closed = false;

  constructor(terminal: LineTerminal) {
    this.#terminal = terminal;
  }

  show(text: string): void {
    if (this.#closed || text === this.#text) return;
    this.#text = text;
    this.#draw();
  }

  /** Runs a callback that writes whole lines to the same terminal. */
  above(write: () => void): void {
    if (this.#text !== '') this.#write(wipe);
    write();
    this.#draw();
  }

  close(): void {
    if (this.#text !== '') this.#write(wipe);
    this.#text = '';
    this.#closed = true;
  }

  #draw(): void {
    const room = (this.#terminal.columns ?? 80) - 1;
    if (this.#text !== '') this.#write(`${wipe}${dim}${this.#text.slice(0, room)}${plain}`);
  }

  #write(text: string): void {
    this.#terminal.write(text);
  }
}

const wipe = '\r\x1b[2K';

const dim = '\x1b[2m';

const plain = '\x1b[0m';

/** Milliseconds between two write attempts to a slow reader. */
const retryMs = 5;

/** Milliseconds for which a slow reader may block writes before lines are queued; reset when a write does not block. */
export const maxWaitMs = 5000;

/** Maximum number of queued bytes for a reader that does not read; more is lost. */
const maxQueuedBytes = 1_048_576;

/** Target of journal lines; with a file descriptor they are written synchronously. */
export type Stderr = NodeJS.WritableStream & { readonly fd?: number; readonly writableLength?: number };

/** A stream that loses no line when the process exits right after a write. */
export function createSink(stderr: Stderr): Writable {
  let leftMs = maxWaitMs;
  return new Writable({
    decodeStrings: false,
    write: (text: string, _encoding, done) => {
      leftMs = writeThrough(stderr, text, leftMs);
      done();
    },
  });
}

/** Writes a text, synchronously with a file descriptor; a closed reader is not an error. Returns the remaining blocking time in milliseconds. */
export function writeThrough(stderr: Stderr, text: string, leftMs = maxWaitMs): number {
  const queued = stderr.writableLength ?? 0;
  const isSync = typeof stderr.fd === 'number' && queued === 0;
  const { rest, waitedMs } = isSync
    ? writeSyncWithin(stderr.fd, Buffer.from(text), leftMs)
    : { rest: text, waitedMs: 0 };
  if (rest.length > 0 && queued < maxQueuedBytes) stderr.write(rest);
  return rest.length === 0 && waitedMs === 0 ? maxWaitMs : leftMs - waitedMs;
}

/** Writes synchronously for at most `withinMs`; `rest` is the part that a slow reader did not read in time. */
function writeSyncWithin(fd: number, bytes: Buffer, withinMs: number): { rest: Buffer; waitedMs: number } {
  let rest = bytes;
  let waitedMs = 0;
  for (const startedMs = monotonicMs(); rest.length > 0;) {
    try {
      rest = rest.subarray(writeSync(fd, rest));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') return { rest: Buffer.alloc(0), waitedMs };
      if (waitedMs >= withinMs) break;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, retryMs);
      waitedMs = monotonicMs() - startedMs;
    }
  }
  return { rest, waitedMs };
}

/** Progress of a long operation. */
export interface Progress {
  done: number;
  total: number;
  unit: 'bytes' | 'images' | 'containers';
}

/** The progress line of a terminal: `downloading: 1.5 of 3.0 MiB (50 %), 4 s`. */
export function formatProgress(state: string, seconds: number, progress: Progress | null): string {
  const time = seconds < 1 ? [] : [`${Math.floor(seconds)} s`];
  const parts = [...(progress === null ? [] : [formatAmount(progress)]), ...time];
  return parts.length === 0 ? state : `${state}: ${parts.join(', ')}`;
}

function formatAmount({ done, total, unit }: Progress): string {
  if (unit !== 'bytes') return `${done} of ${total} ${unit}`;
  const percent = total === 0 ? 100 : Math.floor((done / total) * 100);
  const [size, name] = total < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB'];
  return `${(done / size).toFixed(1)} of ${(total / size).toFixed(1)} ${name} (${percent} %)`;
}
