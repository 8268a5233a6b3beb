import type { Stderr } from './terminal.ts';

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
