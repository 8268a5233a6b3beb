/** Size of the smallest buffer. */
const minBufferBytes = 512;

/**
 * Buffers bytes of a stream by copying them together: memory is proportional to the bytes, not to the number of chunks
 * (some 280 bytes each), and time is linear. As the bytes may contain a secret, no copy is left behind: the chunks and
 * old buffers are wiped.
 */
export class ByteCollector {
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** Copies a chunk and wipes it. */
  add(chunk: Buffer): void {
    const length = this.#length + chunk.length;
    if (length > this.#bytes.length) this.#grow(Math.max(minBufferBytes, length, 2 * this.#bytes.length));
    chunk.copy(this.#bytes, this.#length);
    chunk.fill(0);
    this.#length = length;
  }

  /** Returns all bytes and empties the collector. */
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

/** Maximum size of a stream, and the error thrown when it is exceeded. */
interface SizeLimit {
  maxBytes: number;
  tooLarge: () => Error;
}

/** All bytes of a stream; the chunks are wiped. */
export async function collectBytes(stream: AsyncIterable<Buffer>, { maxBytes, tooLarge }: SizeLimit): Promise<Buffer> {
  const collector = new ByteCollector();
  try {
    for await (const chunk of stream) {
      collector.add(chunk);
      if (collector.length > maxBytes) throw tooLarge();
    }
    return collector.take();
  } finally {
    collector.take().fill(0);
  }
}

/** Ignores errors of a stream, so that a closed reader or a full disk does not end the process (spec §14). */
export function ignoreStreamErrors<T extends NodeJS.WritableStream>(stream: T): T {
  return stream.on('error', () => undefined);
}
