/** A header value: four bytes, little endian. */
export function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

/** The same, signed. */
export function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}

/** The number in a header value of four bytes; null when there is none of that size. */
export function numberIn(value: Buffer | undefined): number | null {
  return value?.length === 4 ? value.readUInt32LE() : null;
}

/** The signed number in a header value of four bytes; null when there is none of that size. */
export function signedIn(value: Buffer | undefined): number | null {
  return value?.length === 4 ? value.readInt32LE() : null;
}
