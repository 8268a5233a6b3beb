import { MeshError } from '../meshError.ts';

/** Joins the parts of a multipart message; each is preceded by its length, two bytes little endian. */
export function joinParts(message: Buffer): Buffer {
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
