import { Duplex } from 'node:stream';
import type { Channel } from './channel.ts';
import { contentType, type Frame, headerFlag, headerKey, readUint32, uint32 } from './frame.ts';
import { MeshError } from './meshError.ts';
import type { SecretStream } from './secretStream.ts';

/** The id of the only connection of a channel. */
export const CONN_ID = 1;

const MAX_PLAIN_BYTES = 16_384;
const emptyBody = Buffer.alloc(0);

/**
 * A connection to a service inside the mesh, as a byte stream: end-to-end encrypted where the service requires it, with
 * half-close, and with back-pressure both ways. Its errors have a `code` like errors of a socket.
 */
export class MeshConnection extends Duplex {
  readonly #channel: Channel;
  readonly #secretStream: SecretStream | null;
  #sequence = 0;
  #isClosedByHost = false;
  #hasEnded = false;
  #isHeaderSent = false;

  constructor(channel: Channel, secretStream: SecretStream | null) {
    super({ allowHalfOpen: true });
    this.#channel = channel;
    this.#secretStream = secretStream;
    this.on('error', ignoreError);
    channel.listen({
      onFrame: (frame) => this.#destroyOnError(() => this.#handleFrame(frame)),
      onEnd: (error) => this.#channelEnded(error),
    });
  }

  override _read(): void {
    this.#channel.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#isClosedByHost) {
      done(asSocketError(new MeshError('unreachable', 'the host closed the connection')));
    } else {
      this.#sendHeader();
      this.#sendData(chunk, done);
    }
  }

  override _final(done: () => void): void {
    if (!this.#isClosedByHost) this.#sendFrame(contentType.data, { flags: headerFlag.fin });
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    if (!this.#isClosedByHost) this.#sendFrame(contentType.stateClosed, {});
    this.#channel.close();
    done(error);
  }

  /** Replaces the token of the login at the router. */
  sendToken(token: string): void {
    if (!this.destroyed)
      this.#channel.send({ type: contentType.updateToken, headers: new Map(), body: Buffer.from(token) });
  }

  /** Socket methods that an HTTP client calls; no effect here. */
  setTimeout = (): this => this;
  setNoDelay = (): this => this;
  setKeepAlive = (): this => this;
  ref = (): this => this;
  unref = (): this => this;

  /** Sends the encryption header before the first bytes. */
  #sendHeader(): void {
    if (this.#isHeaderSent || this.#secretStream === null) return;
    this.#isHeaderSent = true;
    this.#sendFrame(contentType.data, { flags: headerFlag.multipart, body: this.#secretStream.createHeader() });
  }

  #sendData(chunk: Buffer, done: () => void): void {
    const head = chunk.subarray(0, MAX_PLAIN_BYTES);
    const rest = chunk.subarray(MAX_PLAIN_BYTES);
    const body = this.#secretStream === null ? head : this.#secretStream.encrypt(head);
    this.#sendFrame(contentType.data, { body }, () => (rest.length > 0 ? this.#sendData(rest, done) : done()));
  }

  #sendFrame(
    type: number,
    { flags, body = emptyBody }: { flags?: number; body?: Buffer },
    done = (): void => undefined,
  ): void {
    const headers = new Map<number, Buffer>([
      [headerKey.connId, uint32(CONN_ID)],
      [headerKey.seq, uint32((this.#sequence += 1))],
    ]);
    if (flags !== undefined) headers.set(headerKey.flags, uint32(flags));
    this.#channel.write({ type, headers, body }, done);
  }

  #handleFrame({ type, headers, body }: Frame): void {
    if (readUint32(headers.get(headerKey.connId)) !== CONN_ID) return;
    if (type === contentType.data && !this.#hasEnded)
      this.#receive(body, readUint32(headers.get(headerKey.flags)) ?? 0);
    if (type === contentType.stateClosed) {
      this.#isClosedByHost = true;
      this.#endReading();
    }
  }

  /** Unencrypted bytes are copied: a small slice would keep the whole received buffer in memory until it is read. */
  #receive(body: Buffer, flags: number): void {
    const plain =
      body.length === 0 ? null : this.#secretStream === null ? Buffer.from(body) : this.#secretStream.decrypt(body);
    const bytes = plain !== null && flags & headerFlag.multipartMessage ? joinParts(plain) : plain;
    if (bytes !== null && bytes.length > 0 && !this.push(bytes)) this.#channel.pause();
    if (flags & headerFlag.fin) this.#endReading();
  }

  #endReading(): void {
    this.#hasEnded = true;
    this.push(null);
  }

  /** After the host has closed, received data stays readable whatever happens to the router. */
  #channelEnded(error: MeshError): void {
    if (!this.#isClosedByHost || this.writableLength > 0) this.destroy(asSocketError(error));
  }

  #destroyOnError(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.destroy(asSocketError(error as MeshError));
    }
  }
}

/**
 * Error listener: a connection that fails before its user has it keeps the error in `errored`, and must not end the
 * process.
 */
function ignoreError(): void {
  return;
}

function asSocketError(error: MeshError): MeshError & { code: string } {
  return Object.assign(error, { code: 'ECONNRESET' });
}

/** Joins the parts of a multipart message; each is preceded by its length, two bytes little endian. */
function joinParts(message: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(message.length);
  let length = 0;
  for (let at = 0; at < message.length;) {
    const start = at + 2;
    const end = start <= message.length ? start + message.readUInt16LE(at) : Infinity;
    if (end > message.length) throw new MeshError('protocol', 'a message of several parts is cut off');
    length += message.copy(bytes, length, start, end);
    at = end;
  }
  return bytes.subarray(0, length);
}
