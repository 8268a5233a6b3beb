import { ByteCollector } from '../core/streams.ts';
import { MeshError } from './meshError.ts';

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

/** Content types of frames that a client needs which only dials. */
export const contentType = {
  hello: 0,
  result: 2,
  latency: 3,
  connect: 60_783,
  stateConnected: 60_784,
  stateClosed: 60_785,
  data: 60_786,
  inspectRequest: 60_798,
  inspectResponse: 60_799,
  updateToken: 60_803,
} as const;

/** Header keys of frames. */
export const headerKey = {
  connectionId: 0,
  replyFor: 1,
  resultSuccess: 2,
  helloRejectClass: 13,
  timestamp: 128,
  connId: 1000,
  seq: 1001,
  sessionToken: 1002,
  publicKey: 1003,
  flags: 1010,
  appData: 1011,
  errorCode: 1014,
  connType: 1022,
  connectionMarker: 1025,
  circuitId: 1026,
  structuredError: 1033,
} as const;

/** Bits of the header `flags`. */
export const headerFlag = { fin: 1, multipart: 4, multipartMessage: 16 } as const;

/** Values of `errorCode` that concern this client rather than the network. */
export const errorCode = {
  invalidApiSession: 2,
  invalidSession: 3,
  wrongSessionType: 4,
  routerNotAllowed: 5,
  invalidService: 6,
  invalidTerminator: 8,
  accessDenied: 14,
  postureFailed: 15,
} as const;

/** A header value: unsigned, four bytes, little endian. */
export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** A header value: signed, four bytes, little endian. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** The unsigned number in a header value; null unless it has four bytes. */
export function readUint32(value: Buffer | undefined): number | null {
  return value?.length === 4 ? value.readUInt32LE() : null;
}

/** The signed number in a header value; null unless it has four bytes. */
export function readInt32(value: Buffer | undefined): number | null {
  return value?.length === 4 ? value.readInt32LE() : null;
}
