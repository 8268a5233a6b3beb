import { quoteEnvValue } from '../rules/envFile.ts';

/** Widths in which base64 tools break their lines: PEM and MIME. */
const base64Widths = [64, 76];

/** Fewest characters of a base64 text that tell a value apart from chance. */
const shortestFragment = 4;

/** How a style of URL-encoding writes each byte. */
type ByteNames = readonly string[];

/**
 * Styles of URL-encoding by the ASCII punctuation that they leave as it is, beside letters and digits: component, RFC 3986,
 * form, and then the rarer ones: Go's path and userinfo, Python's path, a whole URI, the password of a parsed URL.
 */
const urlStyles = [
  "-_.!~*'()",
  '-_.~',
  '-_.*',
  '-_.~$&+=:@',
  '-_.~$&+,;=',
  '-_.~/',
  "-_.!~*'();,/?:@&=+$#",
  "-_.!~*'()$&+,%",
].map((leftAlone) => ['0123456789ABCDEF', '0123456789abcdef'].map((digits) => byteNames(leftAlone, digits)));

/** Which of the styles a text is looked for in; each costs time and memory by the text's length. */
export interface Styles {
  writers: readonly Writer[];
  urls: readonly ByteNames[];
}

type Writer = (text: string) => string;

/** How programs print a string between quotes: bare, JSON in its dialects, Go's %q. The common ones come first. */
const writers: readonly Writer[] = [
  (text) => text,
  toJson,
  (text) => escapeHtml(toJson(text)),
  toGoQuoted,
  (text) => escapeHtml(toJson(text)).replace(/\\[\\bf]/g, (pair) => oldGoEscapes[pair] ?? pair),
  (text) => escapeSlash(toJson(text)),
  (text) => escapeForeign(toJson(text)),
  (text) => escapeForeign(escapeHtml(toJson(text))),
  (text) => escapeForeign(escapeSlash(toJson(text))),
];

const oldGoEscapes: Readonly<Record<string, string>> = { '\\b': '\\u0008', '\\f': '\\u000c' };

/** Every style there is. */
export const allStyles: Styles = { writers, urls: urlStyles.flat() };

/** For long values and their lines. */
export const commonStyles: Styles = { writers: writers.slice(0, 4), urls: urlStyles.slice(0, 3).flat() };

/** Every form in which compose, the engine or an HTTP library may print `text`, the plain one among them; never empty ones. */
export function formsOf(text: string, { writers, urls } = allStyles): Set<string> {
  const bases = [text, text.replaceAll('$', '$$$$'), quoteEnvValue(text)];
  const quoted = bases.flatMap((base) => writers.map((write) => write(base)));
  const forms = new Set([...quoted, ...urlForms(text, urls), ...base64Forms(text)]);
  forms.delete('');
  return forms;
}

function byteNames(leftAlone: string, digits: string): ByteNames {
  return Array.from({ length: 256 }, (_, byte) => {
    const character = String.fromCharCode(byte);
    const isPlain = /[A-Za-z0-9]/.test(character) || leftAlone.includes(character);
    return isPlain ? character : `%${digits[byte >> 4] ?? ''}${digits[byte & 15] ?? ''}`;
  });
}

function toJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function escapeHtml(json: string): string {
  return json.replace(/[<>&\u2028\u2029]/g, toUnicodeEscape);
}

function escapeSlash(json: string): string {
  return json.replaceAll('/', '\\/');
}

function escapeForeign(json: string): string {
  return json.replace(/[^\0-\x7f]/g, toUnicodeEscape);
}

function toUnicodeEscape(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}

const goEscapes: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
};

function toGoQuoted(text: string): string {
  return text.replace(
    /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu,
    (character) => goEscapes[character] ?? toGoEscape(character),
  );
}

function toGoEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code < 0x10000 ? toUnicodeEscape(character) : `\\U${code.toString(16).padStart(8, '0')}`;
}

function urlForms(text: string, styles: readonly ByteNames[]): string[] {
  const bytes = Buffer.from(text);
  const encoded = styles.map((names) => {
    let form = '';
    for (const byte of bytes) form += names[byte] ?? '';
    return form;
  });
  return encoded.flatMap((form) => [form, form.replaceAll('%20', '+')]);
}

/** The value alone, with and without padding or line breaks, and what of it shows inside the base64 of a longer text. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(text);
  const whole = bytes.toString('base64');
  const fragments = [0, 1, 2].map((shift) => base64Fragment(bytes, shift));
  const lines = base64Widths.flatMap((width) => (fragments[0] ?? '').match(new RegExp(`.{1,${width}}`, 'g')) ?? []);
  const forms = [
    whole,
    whole.replace(/=+$/, ''),
    ...[...fragments, ...lines].filter((form) => form.length >= shortestFragment),
  ];
  return forms.flatMap((form) => [form, form.replaceAll('+', '-').replaceAll('/', '_')]);
}

/** The characters that `bytes` alone decide when `shift` other bytes stand before them in their group of three. */
function base64Fragment(bytes: Buffer, shift: number): string {
  const padded = Buffer.concat([Buffer.alloc(shift), bytes]);
  return padded.toString('base64').slice(Math.ceil((shift * 8) / 6), Math.floor((padded.length * 8) / 6));
}
