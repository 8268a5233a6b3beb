import { ByteCollector } from '../../platform/collectBytes.ts';
import { MeshError } from '../meshError.ts';

/** One message of a router channel. Header values are raw bytes; integers in them are little endian. */
export interface Frame {
  type: number;
  /** Signed: the hello has -1. */
  sequence: number;
  headers: ReadonlyMap<number, Buffer>;
  body: Buffer;
}

const MAGIC = Buffer.from([0x03, 0x06, 0x09, 0x0c]);
const PREFIX_BYTES = 20;
const MAX_HEADERS_BYTES = 65_536;
const MAX_BODY_BYTES = 16_777_216;

/** Serializes a frame. */
export function encodeFrame({ type, sequence, headers, body }: Frame): Buffer {
  const parts = Array.from(headers, ([key, value]) => {
    const head = Buffer.alloc(8);
    head.writeInt32LE(key, 0);
    head.writeUInt32LE(value.length, 4);
    return Buffer.concat([head, value]);
  });
  const packed = Buffer.concat(parts);
  const prefix = Buffer.alloc(PREFIX_BYTES);
  MAGIC.copy(prefix);
  prefix.writeInt32LE(type, 4);
  prefix.writeInt32LE(sequence, 8);
  prefix.writeUInt32LE(packed.length, 12);
  prefix.writeUInt32LE(body.length, 16);
  return Buffer.concat([prefix, packed, body]);
}

/**
 * Parses frames from a channel's bytes as they arrive. Buffers at most one frame: headers up to 64 KiB and a body up to
 * 16 MiB. Throws a MeshError of kind `protocol` for anything else.
 */
export class FrameReader {
  readonly #buffered = new ByteCollector();
  #needed = PREFIX_BYTES;

  /** The frames that are complete with these bytes. */
  *push(chunk: Buffer): Generator<Frame> {
    let rest = chunk;
    if (this.#buffered.length > 0) {
      this.#buffered.add(chunk);
      if (this.#buffered.length < this.#needed) return;
      rest = this.#buffered.take();
    }
    while (rest.length >= (this.#needed = frameLengthOf(rest))) {
      yield decodeFrame(rest.subarray(0, this.#needed));
      rest = rest.subarray(this.#needed);
    }
    this.#buffered.add(rest);
  }
}

/** Length in bytes of the frame that starts here; the prefix length until the prefix is complete. */
function frameLengthOf(bytes: Buffer): number {
  if (bytes.length < PREFIX_BYTES) return PREFIX_BYTES;
  if (!bytes.subarray(0, 4).equals(MAGIC)) throw frameError('does not begin like a frame of a known version');
  const [headers, body] = [bytes.readUInt32LE(12), bytes.readUInt32LE(16)];
  if (headers > MAX_HEADERS_BYTES) throw frameError(`has ${headers} bytes of headers`);
  if (body > MAX_BODY_BYTES) throw frameError(`has a body of ${body} bytes`);
  return PREFIX_BYTES + headers + body;
}

function decodeFrame(bytes: Buffer): Frame {
  const end = PREFIX_BYTES + bytes.readUInt32LE(12);
  return {
    type: bytes.readInt32LE(4),
    sequence: bytes.readInt32LE(8),
    headers: headersOf(bytes.subarray(PREFIX_BYTES, end)),
    body: bytes.subarray(end),
  };
}

function headersOf(bytes: Buffer): Map<number, Buffer> {
  const headers = new Map<number, Buffer>();
  for (let at = 0; at < bytes.length;) {
    if (at + 8 > bytes.length) throw frameError('has a header that is cut off');
    const end = at + 8 + bytes.readUInt32LE(at + 4);
    if (end > bytes.length) throw frameError('has a header that ends beyond the others');
    headers.set(bytes.readInt32LE(at), bytes.subarray(at + 8, end));
    at = end;
  }
  return headers;
}

function frameError(problem: string): MeshError {
  return new MeshError('protocol', `a frame of the edge router ${problem}`);
}
