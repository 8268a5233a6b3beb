import type { Stderr } from './sink.ts';

/** The terminal of a live line. */
export type Terminal = Stderr & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * A line at the bottom of the terminal that is redrawn in place.
 * - It is erased before each journal line and drawn again below it.
 * - It never wraps, and `close` erases it.
 */
export class LiveLine {
  readonly #terminal: Terminal;
  #text = '';
  #closed = false;

  constructor(terminal: Terminal) {
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
