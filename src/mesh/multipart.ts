import { MeshTrouble } from './trouble.ts';

/** The parts of a message that carries several: each has its length, two bytes little endian, before it. */
export function partsOf(message: Buffer): Buffer[] {
  const parts: Buffer[] = [];
  for (let at = 0; at < message.length;) {
    const start = at + 2;
    const end = start <= message.length ? start + message.readUInt16LE(at) : Infinity;
    if (end > message.length) throw new MeshTrouble('protocol', 'a message of several parts is cut off');
    parts.push(message.subarray(start, end));
    at = end;
  }
  return parts;
}
