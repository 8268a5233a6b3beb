import { refused, type Fault } from '../../../../machines/fault.ts';

/** A tar header as every reader understands it. */
export interface Header {
  /** As written, in UTF-8; not judged yet. */
  name: string;
  /** The type flag; the old NUL for a regular file is '0' here. */
  type: string;
  mode: number;
  /** Bytes of the body. */
  size: number;
}

/** What an extension header says about the entry after it; null where it says nothing. */
export interface Extension {
  name: string | null;
  size: number | null;
}

/** Size in bytes of a tar block. */
export const blockBytes = 512;

/** The refusal of a bundle that must not be unpacked (spec §9). */
export function unsafe(detail: string): Fault {
  return refused([{ code: 'BUNDLE_UNSAFE', detail }]);
}

/**
 * Reads a header block. Forms that two readers of tar understand differently are refused (spec §5): whatever passes means
 * the same to all of them. Throws `BUNDLE_UNSAFE`.
 */
export function readHeader(block: Buffer): Header {
  if (number(block, 148, 8) !== checksumOf(block)) throw unsafe('a header is damaged: its checksum is wrong');
  if (!ignoredNumbers.every(([start, end]) => isNumber(block.toString('latin1', start, end))))
    throw unsafe('a header holds an owner or a time that is not a number');
  const type = block[156] === 0 ? '0' : String.fromCharCode(block[156] ?? 0);
  const prefix = prefixOf(block);
  const name = text(block, 0, 100);
  if ('05'.includes(type) && text(block, 157, 100) !== '') throw unsafe(`${quoted(name)} carries the target of a link`);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type,
    mode: number(block, 100, 8),
    size: number(block, 124, 12),
  };
}

/** Reads the body of a GNU long-name header (type L). Throws `BUNDLE_UNSAFE`. */
export function readLongName(body: Buffer): Extension {
  if (body.at(-1) !== 0 || body.indexOf(0) !== body.length - 1) throw unsafe('a long name is not one string');
  return { name: decode(body.subarray(0, -1)), size: null };
}

/** Reads the body of a pax header; a `global` one (type g) may hold a comment only. Throws `BUNDLE_UNSAFE`. */
export function readPax(body: Buffer, global: boolean): Extension {
  const records = paxRecords(body);
  for (const [key, value] of records) {
    if (numbers.get(key)?.(value) === false) throw unsafe(`the pax record ${quoted(key)} is not a number`);
    const allowed = global ? key === 'comment' : paxKeys.has(key);
    if (!allowed) throw unsafe(`the pax record ${quoted(key)} is not allowed${global ? ' for a whole archive' : ''}`);
  }
  const size = records.get('size');
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw unsafe(`${quoted(size)} is not a size`);
  return { name: records.get('path') ?? null, size: size === undefined ? null : Number(size) };
}

/** Text from outside, safe and short enough for a journal line. */
export function quoted(text: string): string {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return JSON.stringify(shown).replace(/[^\x20-\x7e…]/g, '?');
}

/** Times, owners and numbers of the machine it was built on: without a meaning here. */
const ignoredPaxKeys = [
  ...['atime', 'ctime', 'mtime', 'uid', 'gid', 'uname', 'gname', 'comment'],
  ...['SCHILY.dev', 'SCHILY.ino', 'SCHILY.nlink', 'LIBARCHIVE.creationtime'],
];
/** GNU tar gives up on other values of these. */
const isSeconds = (value: string) => /^\d{1,11}(\.\d{1,9})?$/.test(value);
const isId = (value: string) => /^\d{1,10}$/.test(value) && Number(value) < 2 ** 32;
const numbers = new Map([
  ...['atime', 'ctime', 'mtime'].map((key) => [key, isSeconds] as const),
  ...['uid', 'gid'].map((key) => [key, isId] as const),
]);
const paxKeys = new Set([...ignoredPaxKeys, 'path', 'size']);

/** POSIX archives split a long name in two; GNU ones use that room for something else, and here for nothing. */
function prefixOf(block: Buffer): string {
  const magic = block.toString('latin1', 257, 265);
  const star = block[475] === 0;
  if (magic === 'ustar\x0000') return text(block, 345, star ? 130 : 155);
  if (magic !== 'ustar  \0') throw unsafe('a header is neither of the POSIX nor of the GNU form');
  if (!isZero(block.subarray(345, 500))) throw unsafe('a header of the GNU form has a prefix');
  return '';
}

/** True for nothing but NUL bytes. */
export function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

function text(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  if (end >= 0 && !isZero(field.subarray(end))) throw unsafe('a name holds a NUL');
  return decode(end < 0 ? field : field.subarray(0, end));
}

function decode(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw unsafe('a name is not UTF-8');
  }
}

function number(block: Buffer, start: number, length: number): number {
  const digits = /^ *([0-7]+)[ \0]*$/.exec(block.toString('latin1', start, start + length))?.[1];
  if (digits === undefined) throw unsafe('a header holds a number that is not octal');
  return parseInt(digits, 8);
}

/** Fields of uid, gid and mtime: without a meaning here too. */
const ignoredNumbers = [
  [108, 116],
  [116, 124],
  [136, 148],
] as const;

/** Octal, absent, or, where octal digits do not suffice for an id, 32 bits in GNU's binary form. */
function isNumber(field: string): boolean {
  return /^(\0*| *[0-7]+[ \0]*|\x80\0*[^]{4})$/.test(field);
}

/** Its own field counts as eight spaces. */
function checksumOf(block: Buffer): number {
  return block.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 0x20 : byte), 0);
}

function paxRecords(body: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let at = 0; at < body.length;) {
    const length = /^[1-9]\d{0,5}(?= )/.exec(body.toString('latin1', at, at + 7))?.[0];
    const end = at + Number(length ?? NaN);
    if (length === undefined || end > body.length || body[end - 1] !== 0x0a) throw unsafe('a pax header is malformed');
    const [, key, value] = /^([^=]+)=(.*)$/su.exec(decode(body.subarray(at + length.length + 1, end - 1))) ?? [];
    if (key === undefined || value === undefined) throw unsafe('a pax header is malformed');
    if (/[\0\n]/.test(key + value)) throw unsafe(`the pax record ${quoted(key)} holds a NUL or a newline`);
    if (records.has(key)) throw unsafe(`the pax record ${quoted(key)} occurs twice`);
    records.set(key, value);
    at = end;
  }
  return records;
}
