/** DER of a value with this tag (X.690), with less than 256 bytes in it. */
export function der(tag: number, ...parts: Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  return Buffer.concat([Buffer.of(tag, ...(length < 0x80 ? [length] : [0x81, length])), content]);
}

export const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
export const octetString = (bytes: Uint8Array) => der(0x04, bytes);
export const bitString = (bytes: Uint8Array) => der(0x03, Buffer.of(0), bytes);

/** An integer from 0 to 127. */
export const smallInteger = (value: number) => der(0x02, Buffer.of(value));

/** An object identifier, by its contents in hex. */
export const objectIdentifier = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
