import { cEscapes, type Writer } from './byteForms.ts';

/** How shells and their friends quote a word; bash's own come as of its `printf %q`, `${name@Q}` and `declare -p`. */
export const shells: Readonly<Record<string, Writer>> = {
  'shell between single quotes': (text) => text.replaceAll("'", "'\\''"),
  'shell between both quotes': (text) => text.replaceAll("'", `'"'"'`),
  'shell between double quotes': (text) => text.replace(/["$`\\]/g, '\\$&'),
  'shell with backslashes': (text) => text.replace(/[\t !"$&'()*,;<>?[\\\]^`{|}]|(?<=[:=])~/g, '\\$&'),
  "shell between $' and '": toAnsiC,
  "shell between $' and ' in ASCII": (text) => toAnsiC(text).replace(/[^\0-\x7f]+/g, octals),
};

const ansiEscapes: Readonly<Record<string, string>> = { ...cEscapes, '\x1b': '\\E', "'": "\\'" };

function toAnsiC(text: string): string {
  return text.replace(/[\0-\x1f'\\\x7f-\x9f\u2028\u2029]/g, (unit) => ansiEscapes[unit] ?? octals(unit));
}

function octals(text: string): string {
  return Array.from(Buffer.from(text), (byte) => `\\${byte.toString(8).padStart(3, '0')}`).join('');
}

/** How markup is kept from a text: by the entities of its punctuation, or of all characters. */
export const entities: Readonly<Record<string, Writer>> = {
  'HTML of a text': entityWriter({}),
  'HTML of Go': entityWriter({ '"': '&#34;', "'": '&#39;' }),
  'HTML of JavaScript': entityWriter({ '"': '&quot;', "'": '&#39;' }),
  'HTML of Python': entityWriter({ '"': '&quot;', "'": '&#x27;' }),
  'HTML of PHP': entityWriter({ '"': '&quot;', "'": '&#039;' }),
  'HTML of an attribute': entityWriter({ '"': '&quot;' }),
  'HTML of Handlebars': entityWriter({ '"': '&quot;', "'": '&#x27;', '`': '&#x60;', '=': '&#x3D;' }),
  'HTML of Mustache': entityWriter({ '"': '&quot;', "'": '&#39;', '`': '&#x60;', '=': '&#x3D;', '/': '&#x2F;' }),
  XML: entityWriter({ '"': '&quot;', "'": '&apos;' }),
  'XML of Go': (text) =>
    entityWriter({ '"': '&#34;', "'": '&#39;', '\t': '&#x9;', '\n': '&#xA;', '\r': '&#xD;' })(text).replace(
      noXml,
      '\ufffd',
    ),
  'HTML of Python in ASCII': (text) =>
    entityWriter({ '"': '&quot;', "'": '&#x27;' })(text).replace(/[^\0-\x7f]/gu, decimalEntity),
  'decimal entities': (text) => text.replace(/[^]/gu, decimalEntity),
  'hexadecimal entities': (text) => text.replace(/[^]/gu, (each) => `&#x${codeOf(each).toString(16)};`),
  'hexadecimal entities in upper case': (text) =>
    text.replace(/[^]/gu, (each) => `&#x${codeOf(each).toString(16).toUpperCase()};`),
};

/** What XML cannot hold. */
const noXml = /[\0-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]/g;

function entityWriter(more: Readonly<Record<string, string>>): Writer {
  const known: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', ...more };
  return (text) => text.replace(/[&<>"'`=/\t\n\r]/g, (character) => known[character] ?? character);
}

function decimalEntity(character: string): string {
  return `&#${codeOf(character)};`;
}

function codeOf(character: string): number {
  return character.codePointAt(0) ?? 0;
}
