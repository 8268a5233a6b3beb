import { wipe } from './wipe.ts';

/** How a style writes a text: each of its characters by itself. */
export type Writer = (text: string) => string;

const lettersAndDigits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** URL-encoding, in upper and in lower case: the ASCII punctuation that a style leaves as it is, beside letters and digits. */
export const urls: Readonly<Record<string, readonly [Writer, Writer]>> = {
  'URL, a component': urlWriters("-_.!~*'()"),
  'URL, RFC 3986': urlWriters('-_.~'),
  'URL, a form': urlWriters('-_.*'),
  'URL, a path of Go': urlWriters('-_.~$&+=:@'),
  'URL, a user of Go': urlWriters('-_.~$&+,;='),
  'URL, a path of Python': urlWriters('-_.~/'),
  'URL, whole': urlWriters("-_.!~*'();,/?:@&=+$#"),
  'URL, its password': urlWriters("-_.!~*'()$&+,%"),
  'URL, every byte': urlWriters('', ''),
};

function urlWriters(punctuation: string, alphanumerics = lettersAndDigits): [Writer, Writer] {
  const plain = new Set(Buffer.from(punctuation + alphanumerics));
  const write = (hex: (byte: number) => string) => (byte: number) =>
    plain.has(byte) ? String.fromCharCode(byte) : `%${hex(byte)}`;
  return [bytewise(write(upperHex)), bytewise(write(lowerHex))];
}

/** Bytes one after the other, as programs dump them; what stands between two of them follows the last one, too. */
export const dumps: Readonly<Record<string, Writer>> = {
  hex: bytewise(lowerHex),
  'hex in upper case': bytewise(upperHex),
  'hex with blanks': bytewise((byte) => `${lowerHex(byte)} `),
  'hex with colons': bytewise((byte) => `${lowerHex(byte)}:`),
  'hex escapes': bytewise((byte) => `\\x${lowerHex(byte)}`),
  'decimal with blanks': bytewise((byte) => `${byte} `),
  'decimal with commas': bytewise((byte) => `${byte},`),
  'decimal with commas and blanks': bytewise((byte) => `${byte}, `),
};

/** ASCII characters that a byte is written in at most. */
const longestForm = 5;

/** Writes each byte of the text's UTF-8 by itself; its own copies of the text are wiped. */
export function bytewise(write: (byte: number) => string): Writer {
  const forms: Buffer[] = [];
  return (text) => {
    const bytes = Buffer.from(text);
    const form = Buffer.alloc(longestForm * bytes.length);
    let end = 0;
    for (const byte of bytes) for (const unit of (forms[byte] ??= Buffer.from(write(byte)))) form[end++] = unit;
    const written = form.toString('latin1', 0, end);
    wipe(bytes, form);
    return written;
  };
}

/** Two digits. */
export function lowerHex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function upperHex(byte: number): string {
  return lowerHex(byte).toUpperCase();
}

/** The escapes of C, which shells and programming languages took over. */
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
