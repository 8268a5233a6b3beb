import { encodeBytewise, cEscapes, lowerHex, type Encoder } from './byteEncoders.ts';

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
export function toJson(text: string): string {
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
