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
