import { cEscapes, type Encoder } from './byteEncoders.ts';

/** Quoting of shells; the forms of bash are those of its `printf %q`, `${name@Q}` and `declare -p`. */
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
