/** A call without a usable response; it holds nothing of the request. */
export class TransportError extends Error {
  /** A code of node:net or node:tls, or `TOO_LARGE`, `INVALID_PATH`, `UNKNOWN`. */
  readonly code: string;

  constructor(code: string) {
    super(code);
    this.name = 'TransportError';
    this.code = code;
  }
}
