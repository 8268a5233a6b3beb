/** Bytes of the smallest buffer. */
const leastBytes = 512;

/**
 * Bytes of a stream that wait until there are enough of them: copied together, so that they cost what they are and not what
 * each piece does (some 280 bytes), in time linear in them. As they may hold a secret, no copy is left behind: not in the
 * pieces either, which are wiped.
 */
export class Gathered {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Takes the bytes out of a piece. */
  add(piece: Buffer): void {
    const length = this.#length + piece.length;
    if (length > this.#bytes.length) this.#grow(Math.max(leastBytes, length, 2 * this.#bytes.length));
    piece.copy(this.#bytes, this.#length);
    piece.fill(0);
    this.#length = length;
  }

  /** Hands over all of them, and has none then. */
  take(): Buffer {
    const all = this.#bytes.subarray(0, this.#length);
    this.#bytes = Buffer.alloc(0);
    this.#length = 0;
    return all;
  }

  #grow(size: number): void {
    const old = this.take();
    this.#bytes = Buffer.allocUnsafeSlow(size);
    this.#length = old.copy(this.#bytes);
    old.fill(0);
  }
}

/** How many bytes a stream may have, and what is thrown at more. */
export interface Bound {
  maxBytes: number;
  tooLarge: () => Error;
}

/** All bytes of a stream. */
export async function gather(stream: AsyncIterable<Buffer>, { maxBytes, tooLarge }: Bound): Promise<Buffer> {
  const gathered = new Gathered();
  try {
    for await (const piece of stream) {
      gathered.add(piece);
      if (gathered.length > maxBytes) throw tooLarge();
    }
    return gathered.take();
  } finally {
    gathered.take().fill(0);
  }
}
