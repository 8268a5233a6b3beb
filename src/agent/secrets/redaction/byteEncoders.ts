import { wipe } from '../wipe.ts';

/** Encodes a text character by character, so the encoding of a part is part of the encoding of the whole. */
export type Encoder = (text: string) => string;

const lettersAndDigits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Percent-encodings with upper-case and lower-case digits, by the ASCII punctuation that they leave unencoded. */
export const urlEncoders: Readonly<Record<string, readonly [Encoder, Encoder]>> = {
  'URL, a component': urlEncoderPair("-_.!~*'()"),
  'URL, RFC 3986': urlEncoderPair('-_.~'),
  'URL, a form': urlEncoderPair('-_.*'),
  'URL, a path of Go': urlEncoderPair('-_.~$&+=:@'),
  'URL, a user of Go': urlEncoderPair('-_.~$&+,;='),
  'URL, a path of Python': urlEncoderPair('-_.~/'),
  'URL, whole': urlEncoderPair("-_.!~*'();,/?:@&=+$#"),
  'URL, its password': urlEncoderPair("-_.!~*'()$&+,%"),
  'URL, every byte': urlEncoderPair('', ''),
};

function urlEncoderPair(punctuation: string, alphanumerics = lettersAndDigits): [Encoder, Encoder] {
  const plain = new Set(Buffer.from(punctuation + alphanumerics));
  const write = (hex: (byte: number) => string) => (byte: number) =>
    plain.has(byte) ? String.fromCharCode(byte) : `%${hex(byte)}`;
  return [encodeBytewise(write(upperHex)), encodeBytewise(write(lowerHex))];
}

/** Dumps of bytes; the separator also follows the last byte. */
export const byteDumpEncoders: Readonly<Record<string, Encoder>> = {
  hex: encodeBytewise(lowerHex),
  'hex in upper case': encodeBytewise(upperHex),
  'hex with blanks': encodeBytewise((byte) => `${lowerHex(byte)} `),
  'hex with colons': encodeBytewise((byte) => `${lowerHex(byte)}:`),
  'hex escapes': encodeBytewise((byte) => `\\x${lowerHex(byte)}`),
  'decimal with blanks': encodeBytewise((byte) => `${byte} `),
  'decimal with commas': encodeBytewise((byte) => `${byte},`),
  'decimal with commas and blanks': encodeBytewise((byte) => `${byte}, `),
};

/** The most ASCII characters in the encoding of one byte. */
const maxEncodedByte = 5;

/** Encodes each UTF-8 byte of the text by itself; wipes its copies of the text. */
export function encodeBytewise(write: (byte: number) => string): Encoder {
  const forms: Buffer[] = [];
  return (text) => {
    const bytes = Buffer.from(text);
    const form = Buffer.alloc(maxEncodedByte * bytes.length);
    let end = 0;
    for (const byte of bytes) for (const unit of (forms[byte] ??= Buffer.from(write(byte)))) form[end++] = unit;
    const written = form.toString('latin1', 0, end);
    wipe(bytes, form);
    return written;
  };
}

/** A byte as two hexadecimal digits. */
export function lowerHex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function upperHex(byte: number): string {
  return lowerHex(byte).toUpperCase();
}

/** The escapes of C, which shells and other languages use too. */
export const cEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};
