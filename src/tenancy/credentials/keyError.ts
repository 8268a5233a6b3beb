/** The signing keys cannot be used; the message says what an operator has to do. */
export class KeyError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'KeyError';
  }
}
