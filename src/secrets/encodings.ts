import { quoteEnvValue } from '../rules/envFile.ts';
import { wipe } from './wipe.ts';

/** Widths in which base64 tools break their lines: PEM and MIME. */
const base64Widths = [64, 76];

/** Fewest characters of a base64 text that tell a value apart from chance. */
const shortestFragment = 4;

/** How a style writes a text: each of its characters by itself. */
type Writer = (text: string) => string;

const lettersAndDigits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/**
 * Styles of URL-encoding by the ASCII punctuation that they leave as it is, beside letters and digits: component, RFC 3986,
 * form, and then the rarer ones: Go's path and userinfo, Python's path, a whole URI, the password of a parsed URL.
 */
const urls = [
  "-_.!~*'()",
  '-_.~',
  '-_.*',
  '-_.~$&+=:@',
  '-_.~$&+,;=',
  '-_.~/',
  "-_.!~*'();,/?:@&=+$#",
  "-_.!~*'()$&+,%",
].flatMap((leftAlone) => ['0123456789ABCDEF', '0123456789abcdef'].map((digits) => urlWriter(leftAlone, digits)));

/** Which of the styles a text is looked for in; each costs time and memory by the text's length. */
export interface Styles {
  quotes: readonly Writer[];
  urls: readonly Writer[];
}

/** How programs print a string between quotes: JSON in its dialects, Go's %q. The common ones come first. */
const quotes: readonly Writer[] = [
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
export const allStyles: Styles = { quotes, urls };

/** For long values and their lines. */
export const commonStyles: Styles = { quotes: quotes.slice(0, 3), urls: urls.slice(0, 6) };

/** Before the quoting: as it is, for compose to read, for `.env`. */
const bases: readonly Writer[] = [(text) => text, (text) => text.replace(/\$/g, '$$$$'), quoteEnvValue];

/** Every form in which compose, the engine or an HTTP library may print the texts, the plain ones among them; never empty ones. */
export function formsOf(texts: readonly string[], styles = allStyles): string[] {
  const forms = texts.map((): string[] => []);
  const add = (form: string, at: number) => forms[at]?.includes(form) === false && forms[at].push(form);
  for (const base of bases) {
    const based = written(texts, base);
    based.forEach(add);
    for (const quote of styles.quotes) written(based, quote).forEach(add);
  }
  for (const encode of styles.urls) {
    const encoded = written(texts, encode);
    encoded.forEach(add);
    encoded.map((form) => form.replaceAll('%20', '+')).forEach(add);
  }
  return [...forms.flat(), ...texts.flatMap(base64Forms)].filter((form) => form !== '');
}

/** Stands between texts that are written all at once, which is much faster; a random one that hardly any text holds. */
const separator = String.fromCharCode(0xa000 + Math.floor(1000 * Math.random()));

/** The texts in a style. */
function written(texts: readonly string[], write: Writer): readonly string[] {
  if (texts.length <= 1) return texts.map(write);
  const forms = write(texts.join(separator)).split(write(separator));
  return forms.length === texts.length ? forms : texts.map(write);
}

function urlWriter(leftAlone: string, digits: string): Writer {
  const isPlain = new Uint8Array(256);
  for (const byte of Buffer.from(lettersAndDigits + leftAlone)) isPlain[byte] = 1;
  const hex = Buffer.from(digits);
  return (text) => {
    const bytes = Buffer.from(text);
    const form = Buffer.alloc(3 * bytes.length);
    let end = 0;
    for (const byte of bytes) {
      if (isPlain[byte] === 1) form[end++] = byte;
      else {
        form[end++] = 0x25;
        form[end++] = hex[byte >> 4] ?? 0;
        form[end++] = hex[byte & 15] ?? 0;
      }
    }
    const written = form.toString('latin1', 0, end);
    wipe(bytes, form);
    return written;
  };
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

/** What Go does not print as it is; the table of what is printable beyond ASCII is made where a text needs it, for it costs. */
const unprintable = { ascii: /["\\]|[^ -~]/g, any: () => /["\\]|[^\p{L}\p{M}\p{N}\p{P}\p{S} ]/gu };

function toGoQuoted(text: string): string {
  const pattern = /[^\0-\x7f]/.test(text) ? unprintable.any() : unprintable.ascii;
  return text.replace(pattern, (character) => goEscapes[character] ?? toGoEscape(character));
}

function toGoEscape(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  if (code < 0x80) return `\\x${code.toString(16).padStart(2, '0')}`;
  return code < 0x10000 ? toUnicodeEscape(character) : `\\U${code.toString(16).padStart(8, '0')}`;
}

/** The value alone, with and without padding or line breaks, and what of it shows inside the base64 of a longer text. */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(`\0\0${text}`);
  const whole = bytes.toString('base64', 2);
  const fragments = [0, 1, 2].map((shift) => base64Fragment(bytes.subarray(2 - shift), shift));
  wipe(bytes);
  const lines = base64Widths.flatMap((width) => (fragments[0] ?? '').match(new RegExp(`.{1,${width}}`, 'g')) ?? []);
  const forms = [
    whole,
    whole.replace(/=+$/, ''),
    ...[...fragments, ...lines].filter((form) => form.length >= shortestFragment),
  ];
  return forms.flatMap((form) => (/[+/]/.test(form) ? [form, form.replaceAll('+', '-').replaceAll('/', '_')] : [form]));
}

/** The characters that only the bytes after the first `shift` ones decide. */
function base64Fragment(bytes: Buffer, shift: number): string {
  return bytes.toString('base64').slice(Math.ceil((shift * 8) / 6), Math.floor((bytes.length * 8) / 6));
}
