import type { Stderr } from './sink.ts';

/** A terminal that a line can be shown on. */
export type Terminal = Stderr & { readonly isTTY?: boolean; readonly columns?: number };

/**
 * One line at the bottom of a terminal that is drawn over again and again.
 * - Lines of the journal push it down: it is wiped before each, and drawn again below.
 * - It never wraps, and nothing is left of it after `close`.
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

  /** Does what writes whole lines to the same terminal. */
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
