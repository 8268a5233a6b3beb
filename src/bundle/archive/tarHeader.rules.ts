import { type Fault, refusedFault } from '../../../machines/fault.ts';
import { refusalWith } from '../../../machines/refusals.ts';

/** A tar header, reduced to the fields that all tar readers interpret alike. */
export interface TarHeader {
  /** As in the archive, in UTF-8; not validated yet. */
  name: string;
  /** The type flag; the old NUL for a regular file becomes '0'. */
  type: string;
  mode: number;
  /** Bytes of the body. */
  size: number;
}

/** The fields that an extension header sets for the next entry; null where it sets none. */
export interface ExtensionHeader {
  name: string | null;
  size: number | null;
}

/** Size in bytes of a tar block. */
export const blockBytes = 512;

/** The refusal of a bundle that must not be unpacked, with its cure (spec §9). */
export function bundleUnsafe(text: string, cure = 'pack it again with deployctl bundle pack'): Fault {
  return refusedFault([refusalWith('BUNDLE_UNSAFE', [{ text, cure }])]);
}

/**
 * Parses a header block. Headers that tar readers interpret differently are refused (spec §5). Throws `BUNDLE_UNSAFE`.
 */
export function parseHeader(block: Buffer): TarHeader {
  if (parseOctal(block, 148, 8) !== checksumOf(block)) throw bundleUnsafe('a header is damaged: its checksum is wrong');
  if (!ignoredNumberFields.every(([start, end, form]) => form.test(block.toString('latin1', start, end))))
    throw bundleUnsafe('a header holds an owner or a time that is not a number');
  const type = block.toString('latin1', 156, 157).replace('\0', '0');
  const name = parseText(block, 0, 100);
  if (type === 'S') throw bundleUnsafe(`${quoteForLog(name)} is a sparse file`, packUnsparse);
  const prefix = parsePrefix(block);
  if ('05'.includes(type) && parseText(block, 157, 100) !== '')
    throw bundleUnsafe(`${quoteForLog(name)} carries the target of a link`);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type,
    mode: parseOctal(block, 100, 8),
    size: parseOctal(block, 124, 12),
  };
}

/** Parses the body of a GNU long-name header (type L). Throws `BUNDLE_UNSAFE`. */
export function parseLongName(body: Buffer): ExtensionHeader {
  if (body.at(-1) !== 0 || body.indexOf(0) !== body.length - 1) throw bundleUnsafe('a long name is not one string');
  return { name: decodeUtf8(body.subarray(0, -1)), size: null };
}

/** Parses the body of a pax header; a `global` one (type g) may contain only what is ignored. Throws `BUNDLE_UNSAFE`. */
export function parsePax(body: Buffer, global: boolean): ExtensionHeader {
  const records = parsePaxRecords(body);
  for (const [key, value] of records) {
    if (key.startsWith('GNU.sparse.')) throw bundleUnsafe('an entry is a sparse file', packUnsparse);
    if (ignoredPaxKeys.get(key)?.(value) === false)
      throw bundleUnsafe(`the pax record ${quoteForLog(key)} has no valid value`);
    const allowed = isIgnored(key) || (!global && ['path', 'size'].includes(key));
    if (!allowed)
      throw bundleUnsafe(`the pax record ${quoteForLog(key)} is not allowed${global ? ' for a whole archive' : ''}`);
  }
  const size = records.get('size');
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw bundleUnsafe(`${quoteForLog(size)} is not a size`);
  return { name: records.get('path') ?? null, size: size === undefined ? null : Number(size) };
}

/** Untrusted text, quoted and shortened for a journal line. */
export function quoteForLog(text: string): string {
  const shown = text.length > 100 ? `${text.slice(0, 100)}…` : text;
  return JSON.stringify(shown).replace(/[^\x20-\x7e…]/g, '?');
}

const packUnsparse = 'pack it as an ordinary file (tar without --sparse, bsdtar --no-read-sparse)';

/** Also before 1970, and longer than a date needs. */
const isSeconds = (value: string) => /^-?\d{1,19}(\.\d{1,20})?$/.test(value);
const isId = (value: string) => /^\d{1,20}$/.test(value);
const isText = () => true;

/** Times and owners of the build machine, which the agent does not use; and names of UTF-8, which are all that it takes. */
const ignoredPaxKeys: ReadonlyMap<string, (value: string) => boolean> = new Map([
  ...['atime', 'ctime', 'mtime'].map((key) => [key, isSeconds] as const),
  ...['uid', 'gid'].map((key) => [key, isId] as const),
  ...['uname', 'gname', 'comment'].map((key) => [key, isText] as const),
  ['hdrcharset', (value) => ['BINARY', 'ISO-IR 10646 2000 UTF-8'].includes(value)],
]);

/** Of these vendors, other keys say which bytes a file has, or which kind of file it is. */
const ignoredVendorKeys = /^SCHILY\.(dev|ino|nlink|fflags|xattr\..+|acl\..+)$/;

/** True for a key that decides neither name nor kind nor content: what build machines add, such as attributes of macOS. */
function isIgnored(key: string): boolean {
  if (ignoredPaxKeys.has(key) || ignoredVendorKeys.test(key)) return true;
  return /^[A-Z][A-Z0-9]*\../.test(key) && !/^(GNU|SUN|SCHILY)\./.test(key);
}

/** POSIX archives store the first part of a long name here; in GNU archives the field must be empty. */
function parsePrefix(block: Buffer): string {
  const magic = block.toString('latin1', 257, 265);
  const star = block[475] === 0;
  if (magic === 'ustar\x0000') return parseText(block, 345, star ? 130 : 155);
  // the old form, which has neither magic nor prefix
  if (isAllZero(block.subarray(257, 512))) return '';
  if (magic !== 'ustar  \0') throw bundleUnsafe('a header is neither of the POSIX nor of the GNU form');
  if (!isAllZero(block.subarray(345, 500))) throw bundleUnsafe('a header of the GNU form has a prefix');
  return '';
}

/** True when all bytes are NUL. */
export function isAllZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0);
}

function parseText(block: Buffer, start: number, length: number): string {
  const field = block.subarray(start, start + length);
  const end = field.indexOf(0);
  if (end >= 0 && !isAllZero(field.subarray(end))) throw bundleUnsafe('a name holds a NUL');
  return decodeUtf8(end < 0 ? field : field.subarray(0, end));
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(bytes: Buffer): string {
  try {
    return utf8.decode(bytes);
  } catch {
    throw bundleUnsafe('a name is not UTF-8');
  }
}

function parseOctal(block: Buffer, start: number, length: number): number {
  const digits = /^ *([0-7]+)[ \0]*$/.exec(block.toString('latin1', start, start + length))?.[1];
  if (digits === undefined) throw bundleUnsafe('a header holds a number that is not octal');
  return parseInt(digits, 8);
}

/** An octal number, an empty field, or GNU's binary form: 32 bits of an owner, 48 bits of a time, which may be negative. */
const [ownerForm, timeForm] = [
  /^(\0*| *[0-7]+[ \0]*|\x80\0*[^]{4})$/,
  /^(\0*| *[0-7]+[ \0]*|\x80\0*[^]{4,6}|\xff+[^]{4,6})$/,
];

/** Offsets of uid, gid and mtime, which the agent does not use either. */
const ignoredNumberFields = [
  [108, 116, ownerForm],
  [116, 124, ownerForm],
  [136, 148, timeForm],
] as const;

/** The checksum field itself counts as eight spaces. */
function checksumOf(block: Buffer): number {
  return block.reduce((sum, byte, offset) => sum + (offset >= 148 && offset < 156 ? 0x20 : byte), 0);
}

/** Far above what archivers write of one entry. */
const maxPaxRecords = 1000;

function parsePaxRecords(body: Buffer): Map<string, string> {
  const records = new Map<string, string>();
  for (let offset = 0; offset < body.length;) {
    const length = /^[1-9]\d{0,6}(?= )/.exec(body.toString('latin1', offset, offset + 8))?.[0];
    const end = offset + Number(length);
    if (body[end - 1] !== 0x0a) throw bundleUnsafe('a pax header is malformed');
    const record = body.subarray(body.indexOf(' ', offset) + 1, end - 1);
    const equals = record.indexOf('=');
    if (equals < 1) throw bundleUnsafe('a pax header is malformed');
    const key = decodeUtf8(record.subarray(0, equals));
    // attributes of files are bytes
    const isBinary = /^[A-Z]+\.xattr\./.test(key);
    const value = isBinary ? '' : decodeUtf8(record.subarray(equals + 1));
    if (/[\0\n]/.test(key + value)) throw bundleUnsafe(`the pax record ${quoteForLog(key)} holds a NUL or a newline`);
    if (records.has(key)) throw bundleUnsafe(`the pax record ${quoteForLog(key)} occurs twice`);
    if (records.size === maxPaxRecords) throw bundleUnsafe(`a pax header has more than ${maxPaxRecords} records`);
    records.set(key, value);
    offset = end;
  }
  return records;
}
