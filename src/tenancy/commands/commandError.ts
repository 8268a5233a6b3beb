/** A command cannot do what it was asked for; the message says why, and what an operator has to do. Exit 1. */
export class CommandError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CommandError';
  }
}

/** Results to `log`, everything else to `error`; `console` is one. */
export interface Output {
  log: (line: string) => void;
  error: (line: string) => void;
}
