import { Duplex } from 'node:stream';
import type { Channel } from './channel.ts';
import type { Frame } from './frame.ts';
import { joined } from './multipart.ts';
import type { Seal } from './seal.ts';
import { MeshTrouble } from './trouble.ts';
import { numberIn, u32 } from './values.ts';
import { content, flag, header } from './words.ts';

/** The number of the one connection that a channel of ours carries. */
export const CONN_ID = 1;

const MAX_PLAIN_BYTES = 16_384;
const nothing = Buffer.alloc(0);

/**
 * A connection to a service inside the mesh, as a stream of bytes: encrypted end to end where the service demands it,
 * with half-close, and with back-pressure both ways. Its errors carry a `code` like those of a socket.
 */
export class MeshConnection extends Duplex {
  readonly #channel: Channel;
  readonly #seal: Seal | null;
  #sequence = 0;
  #isClosedByHost = false;
  #hasEnded = false;
  #isBegun = false;

  constructor(channel: Channel, seal: Seal | null) {
    super({ allowHalfOpen: true });
    this.#channel = channel;
    this.#seal = seal;
    this.on('error', heardLater);
    channel.listen({
      frame: (frame) => this.#guarded(() => this.#take(frame)),
      end: (trouble) => this.#lose(trouble),
    });
  }

  override _read(): void {
    this.#channel.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isClosedByHost) {
      done(asSocketError(new MeshTrouble('unreachable', 'the host closed the connection')));
    } else {
      this.#begin();
      this.#send(chunk, done);
    }
  }

  override _final(done: () => void): void {
    if (!this.#isClosedByHost) this.#frame(content.data, { flags: flag.fin });
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isClosedByHost) this.#frame(content.stateClosed, {});
    this.#channel.close();
    done(error);
  }

  /** Those of a socket that an HTTP client calls; they have no meaning here. */
  setTimeout = (): this => this;
  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  ref = (): this => this;
  unref = (): this => this;

  /** Ahead of our first bytes goes what the host opens the others with. */
  #begin(): void {
    if (this.#isBegun || this.#seal === null) return;
    this.#isBegun = true;
    this.#frame(content.data, { flags: flag.multipart, body: this.#seal.begin() });
  }

  #send(chunk: Buffer, done: () => void): void {
    const piece = chunk.subarray(0, MAX_PLAIN_BYTES);
    const rest = chunk.subarray(MAX_PLAIN_BYTES);
    const body = this.#seal === null ? piece : this.#seal.seal(piece);
    this.#frame(content.data, { body }, () => (rest.length > 0 ? this.#send(rest, done) : done()));
  }

  #frame(
    type: number,
    { flags, body = nothing }: { flags?: number; body?: Buffer },
    done = (): void => undefined,
  ): void {
    const headers = new Map<number, Buffer>([
      [header.connId, u32(CONN_ID)],
      [header.seq, u32((this.#sequence += 1))],
    ]);
    if (flags !== undefined) headers.set(header.flags, u32(flags));
    this.#channel.write({ type, headers, body }, done);
  }

  #take({ type, headers, body }: Frame): void {
    if (numberIn(headers.get(header.connId)) !== CONN_ID) return;
    if (type === content.data && !this.#hasEnded) this.#receive(body, numberIn(headers.get(header.flags)) ?? 0);
    if (type === content.stateClosed) {
      this.#isClosedByHost = true;
      this.#endReading();
    }
  }

  /** Plain bytes are copied: a few of them would hold all that they came with for as long as nobody reads them. */
  #receive(body: Buffer, flags: number): void {
    const plain = body.length === 0 ? null : this.#seal === null ? Buffer.from(body) : this.#seal.open(body);
    const bytes = plain !== null && flags & flag.multipartMessage ? joined(plain) : plain;
    if (bytes !== null && bytes.length > 0 && !this.push(bytes)) this.#channel.pause();
    if (flags & flag.fin) this.#endReading();
  }

  #endReading(): void {
    this.#hasEnded = true;
    this.push(null);
  }

  /** What a host sent before it closed is still to be read, whatever becomes of the router. */
  #lose(trouble: MeshTrouble): void {
    if (!this.#isClosedByHost || this.writableLength > 0) this.destroy(asSocketError(trouble));
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.destroy(asSocketError(error as MeshTrouble));
    }
  }
}

/** A connection that fails before its user has it keeps the error for `errored`; it must not end the process. */
function heardLater(): void {
  return;
}

function asSocketError(trouble: MeshTrouble): MeshTrouble & { code: string } {
  return Object.assign(trouble, { code: 'ECONNRESET' });
}
