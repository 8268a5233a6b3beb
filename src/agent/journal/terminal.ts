import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeSync } from 'node:fs';
import { Writable } from 'node:stream';
import { styleText } from 'node:util';
import { monotonicMs } from '../../core/clock.ts';
import { ignoreStreamErrors } from '../../core/streams.ts';
import { type Paint, unpainted } from '../../core/text.rules.ts';

/** A stream that may be a terminal. */
type Screen = NodeJS.WritableStream & Pick<NodeJS.WriteStream, 'isTTY' | 'getColorDepth'>;

/** Where a command shows a long text. */
export interface Terminal {
  /** True if the output is a terminal. */
  isInteractive: boolean;
  /** Whether to print colours: on a terminal, unless `NO_COLOR` is set. */
  paint: Paint;
  /** Aborts once the reader has closed the stream, which is not an error. */
  closed: AbortSignal;
  /** Shows a text, on a terminal with a pager; resolves when it has been read. */
  show: (text: string) => Promise<void>;
}

/** Shows short texts without paging; keeps colours and leaves the text on the screen. */
const defaultPager = 'if command -v less >/dev/null; then exec less -FRX; else exec cat; fi';

/** The terminal behind standard output. Without `paged`, and with an empty `PAGER`, nothing is paged. */
export function openTerminal(paged: boolean, stream: Screen = process.stdout): Terminal {
  const pager = process.env['PAGER'] ?? defaultPager;
  const isInteractive = stream.isTTY;
  const closed = new AbortController();
  stream.on('error', () => closed.abort());
  return {
    isInteractive,
    closed: closed.signal,
    paint: isInteractive ? (style, text) => (style === 'plain' ? text : styleText(style, text, { stream })) : unpainted,
    show: async (text) => {
      if (isInteractive && paged && pager !== '') await page(text, pager);
      else stream.write(`${text}\n`);
    },
  };
}

/**
 * Shows a text with a pager command, run by the shell. It is not an error if the reader quits early or interrupts.
 * `less` may not start a shell or write a file: it runs as the agent's user, who may have more rights than a user
 * who may only read logs through sudo.
 */
async function page(text: string, command: string): Promise<void> {
  const ignore = () => undefined;
  process.on('SIGINT', ignore);
  try {
    const env = { ...process.env, LESSSECURE: '1' };
    const child = spawn('/bin/sh', ['-c', command], { env, stdio: ['pipe', 'inherit', 'inherit'] });
    ignoreStreamErrors(child.stdin).end(`${text}\n`);
    await once(child, 'close');
  } finally {
    process.off('SIGINT', ignore);
  }
}

/** Output of a command: results to `log`, warnings to `error`; `console` is one. */
export interface Output {
  log: (line: string) => void;
  error: (line: string) => void;
}

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
