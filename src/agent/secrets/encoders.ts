import { wipe } from './memory.ts';

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
function encodeBytewise(write: (byte: number) => string): Encoder {
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
function lowerHex(byte: number): string {
  return byte.toString(16).padStart(2, '0');
}

function upperHex(byte: number): string {
  return lowerHex(byte).toUpperCase();
}

/** The escapes of C, which shells and other languages use too. */
const cEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
};

/** Quoting of shells; the forms of bash are the output of `printf %q`, `${name@Q}` and `declare -p`. */
export const shellEncoders: Readonly<Record<string, Encoder>> = {
  'shell between single quotes': (text) => text.replaceAll("'", "'\\''"),
  'shell between both quotes': (text) => text.replaceAll("'", `'"'"'`),
  'shell between double quotes': (text) => text.replace(/["$`\\]/g, '\\$&'),
  'shell with backslashes': (text) => text.replace(/[\t !"$&'()*,;<>?[\\\]^`{|}]|(?<=[:=])~/g, '\\$&'),
  "shell between $' and '": toAnsiC,
  "shell between $' and ' in ASCII": (text) => toAnsiC(text).replace(/[^\0-\x7f]+/g, octalEscapes),
};

const ansiEscapes: Readonly<Record<string, string>> = { ...cEscapes, '\x1b': '\\E', "'": "\\'" };

function toAnsiC(text: string): string {
  return text.replace(/[\0-\x1f'\\\x7f-\x9f\u2028\u2029]/g, (unit) => ansiEscapes[unit] ?? octalEscapes(unit));
}

function octalEscapes(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** Escaping of markup: by entities for punctuation, or for every character. */
export const entityEncoders: Readonly<Record<string, Encoder>> = {
  'HTML of a text': entityEncoder({}),
  'HTML of Go': entityEncoder({ '"': '&#34;', "'": '&#39;' }),
  'HTML of JavaScript': entityEncoder({ '"': '&quot;', "'": '&#39;' }),
  'HTML of Python': entityEncoder({ '"': '&quot;', "'": '&#x27;' }),
  'HTML of PHP': entityEncoder({ '"': '&quot;', "'": '&#039;' }),
  'HTML of an attribute': entityEncoder({ '"': '&quot;' }),
  'HTML of Handlebars': entityEncoder({ '"': '&quot;', "'": '&#x27;', '`': '&#x60;', '=': '&#x3D;' }),
  'HTML of Mustache': entityEncoder({ '"': '&quot;', "'": '&#39;', '`': '&#x60;', '=': '&#x3D;', '/': '&#x2F;' }),
  XML: entityEncoder({ '"': '&quot;', "'": '&apos;' }),
  'XML of Go': (text) =>
    entityEncoder({ '"': '&#34;', "'": '&#39;', '\t': '&#x9;', '\n': '&#xA;', '\r': '&#xD;' })(text).replace(
      invalidInXml,
      '\ufffd',
    ),
  'HTML of Python in ASCII': (text) =>
    entityEncoder({ '"': '&quot;', "'": '&#x27;' })(text).replace(/[^\0-\x7f]/gu, decimalEntity),
  'decimal entities': (text) => text.replace(/[^]/gu, decimalEntity),
  'hexadecimal entities': (text) => text.replace(/[^]/gu, (each) => `&#x${codePointOf(each).toString(16)};`),
  'hexadecimal entities in upper case': (text) =>
    text.replace(/[^]/gu, (each) => `&#x${codePointOf(each).toString(16).toUpperCase()};`),
};

/** Characters that XML does not allow. */
const invalidInXml = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

function entityEncoder(more: Readonly<Record<string, string>>): Encoder {
  const known: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', ...more };
  return (text) => text.replace(/[&<>"'`=/\t\n\r]/g, (character) => known[character] ?? character);
}

function decimalEntity(character: string): string {
  return `&#${codePointOf(character)};`;
}

function codePointOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}

/** String literals of the dialects of JSON, and of Go's %q. The common ones come first. */
export const jsonEncoders: Readonly<Record<string, Encoder>> = {
  JSON: toJson,
  'JSON of Go': toGoJson,
  '%q of Go': toGoQuoted,
  'JSON of older Go': (text) => toGoJson(text).replace(/\\[\\bf]/g, (pair) => olderGoEscapes[pair] ?? pair),
  'JSON with escaped slashes': (text) => escapeSlash(toJson(text)),
  'JSON in ASCII': (text) => escapeNonAscii(toJson(text)),
  'JSON of Python': toPythonJson,
  'JSON of Go in ASCII': (text) => escapeNonAscii(toGoJson(text)),
  'JSON of PHP': (text) => escapeNonAscii(escapeSlash(toJson(text))),
  '%+q of Go': (text) => escapeNonAsciiAsGo(toGoQuoted(text)),
};

/** Encoders that programs apply to text that is already quoted. */
export const nestingEncoders: readonly Encoder[] = [toJson, toGoJson, toGoQuoted, toPythonJson];

/** String literals of Python and Node, which escape only the kind of quote that encloses the string. */
export const reprEncoders: Readonly<Record<string, Encoder>> = {
  'repr of Python': toPython,
  'repr of Python with both quotes': (text) => escapeQuote(toPython(text)),
  'ascii of Python': (text) => escapeNonAsciiAsPython(toPython(text)),
  'ascii of Python with both quotes': (text) => escapeQuote(escapeNonAsciiAsPython(toPython(text))),
  'bytes of Python': (text) => pythonBytes(text),
  'bytes of Python with both quotes': (text) => escapeQuote(pythonBytes(text)),
  'inspect of Node': toNode,
  'inspect of Node with all quotes': (text) => escapeQuote(toNode(text)),
};

/** Quoted scalars of YAML. */
export const yamlEncoders: Readonly<Record<string, Encoder>> = {
  'YAML between single quotes': (text) => text.replaceAll("'", "''"),
  'YAML between double quotes': (text) => text.replace(yamlSpecial(), toYamlEscape),
  'YAML between double quotes in ASCII': (text) => text.replace(yamlNonAscii, toYamlEscape),
};

const pythonBytes = encodeBytewise((byte) =>
  byte < 0x80 ? toPython(String.fromCharCode(byte)) : `\\x${lowerHex(byte)}`,
);

const olderGoEscapes: Readonly<Record<string, string>> = { '\\b': '\\u0008', '\\f': '\\u000c' };

/** JSON as `JSON.stringify` writes it. */
function toJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function toGoJson(text: string): string {
  return toJson(text).replace(/[<>&\u2028\u2029]/g, toUnicodeEscape);
}

function toPythonJson(text: string): string {
  return escapeNonAscii(toJson(text)).replaceAll('\x7f', '\\u007f');
}

function escapeSlash(json: string): string {
  return json.replaceAll('/', '\\/');
}

function escapeNonAscii(json: string): string {
  return json.replace(/[^\0-\x7f]/g, toUnicodeEscape);
}

function escapeQuote(text: string): string {
  return text.replaceAll("'", "\\'");
}

function toUnicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const goEscapes: Readonly<Record<string, string>> = { ...cEscapes, '"': '\\"' };

/**
 * Unprintable characters. The pattern for Unicode is expensive, so it is compiled only for a text that is not ASCII.
 */
const unprintable = { ascii: /[^ -~]/g, any: () => /[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu };

function unprintablePatternFor(text: string): RegExp {
  return /[^\0-\x7f]/.test(text) ? unprintable.any() : unprintable.ascii;
}

function toGoQuoted(text: string): string {
  const escaped = text.replace(/["\\]/g, '\\$&');
  return escaped.replace(unprintablePatternFor(text), (character) => goEscapes[character] ?? toGoEscape(character));
}

function toGoEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${lowerHex(code)}`;
  return code < 0x10000 ? toUnicodeEscape(character) : `\\U${code.toString(16).padStart(8, '0')}`;
}

function escapeNonAsciiAsGo(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, toGoEscape);
}

const pythonEscapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function toPython(text: string): string {
  const escaped = text.replaceAll('\\', '\\\\');
  return escaped.replace(
    unprintablePatternFor(text),
    (character) => pythonEscapes[character] ?? toPythonEscape(character),
  );
}

function escapeNonAsciiAsPython(text: string): string {
  return text.replace(/[^\0-\x7f]/gu, toPythonEscape);
}

function toPythonEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  return code < 0x100 ? `\\x${lowerHex(code)}` : toGoEscape(character);
}

const nodeEscapes: Readonly<Record<string, string>> = { ...pythonEscapes, '\b': '\\b', '\f': '\\f', '\\': '\\\\' };

/** Control characters (C0 and C1) and the backslash. */
const nodeSpecial = /[\0-\x1f\x7f-\x9f\\]/g;

function toNode(text: string): string {
  return text.replace(
    nodeSpecial,
    (character) => nodeEscapes[character] ?? `\\x${lowerHex(character.charCodeAt(0)).toUpperCase()}`,
  );
}

const yamlEscapes: Readonly<Record<string, string>> = {
  ...goEscapes,
  '\0': '\\0',
  '\x1b': '\\e',
  '\x85': '\\N',
  '\xa0': '\\_',
  '\u2028': '\\L',
  '\u2029': '\\P',
};

const yamlSpecial = () => /[\0-\x1f"\\\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]/g;
const yamlNonAscii = /[^ !#-[\]-~]/gu;

function toYamlEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  const digits = code.toString(16).toUpperCase();
  const escape = code < 0x100 ? `\\x${digits.padStart(2, '0')}` : `\\u${digits.padStart(4, '0')}`;
  return yamlEscapes[character] ?? (code < 0x10000 ? escape : `\\U${digits.padStart(8, '0')}`);
}
