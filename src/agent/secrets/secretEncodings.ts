import {
  byteDumpEncoders,
  type Encoder,
  entityEncoders,
  jsonEncoders,
  nestingEncoders,
  reprEncoders,
  shellEncoders,
  urlEncoders,
  yamlEncoders,
} from './encoders.ts';
import { quoteEnvValue } from './envFile.rules.ts';
import { wipe } from './memory.ts';

/** Line widths of base64 tools: PEM and MIME. */
const base64LineWidths = [64, 76];

/** Fewest characters of a base64 fragment or byte dump that are unlikely to occur by chance. */
const minFragmentLength = 4;

/** The encodings in which a text is searched; each costs time and memory in proportion to the text. */
export interface EncoderSet {
  /** For the plain text, the text with doubled dollar signs, and its form in `.env`. */
  quotes: readonly Encoder[];
  /** For the results of `quotes`, except those as in `.env`. */
  nestingEncoders: readonly Encoder[];
  /** For the plain text and the text with doubled dollar signs. */
  yamls: readonly Encoder[];
  /** For the plain text. */
  others: readonly Encoder[];
  urls: readonly Encoder[];
  dumps: readonly Encoder[];
}

/** All encodings. */
export const allEncoders: EncoderSet = {
  quotes: Object.values(jsonEncoders),
  nestingEncoders,
  yamls: Object.values(yamlEncoders),
  others: [reprEncoders, shellEncoders, entityEncoders].flatMap((named) => Object.values(named)),
  urls: Object.values(urlEncoders).flat(),
  dumps: Object.values(byteDumpEncoders),
};

/** The common encodings, for long values and their lines. */
export const commonEncoders: EncoderSet = {
  quotes: allEncoders.quotes.slice(0, 3),
  nestingEncoders: nestingEncoders.slice(0, 1),
  yamls: allEncoders.yamls.slice(0, 1),
  others: encodersNamed(shellEncoders, ['shell between single quotes']).concat(
    encodersNamed(reprEncoders, ['repr of Python']),
    encodersNamed(entityEncoders, ['HTML of Go', 'HTML of JavaScript']),
  ),
  urls: allEncoders.urls.slice(0, 6),
  dumps: allEncoders.dumps.slice(0, 1),
};

function encodersNamed(encoders: Readonly<Record<string, Encoder>>, names: string[]): Encoder[] {
  return Object.entries(encoders).flatMap(([name, write]) => (names.includes(name) ? [write] : []));
}

const doubleDollars: Encoder = (text) => text.replace(/\$/g, '$$$$');

/**
 * Every form in which compose, the engine or a library may print the texts, including the plain form; none is empty.
 */
export function encodedFormsOf(texts: readonly string[], encoders = allEncoders): string[] {
  const forms = texts.map((): Set<string> => new Set());
  const add = (form: string, at: number) => void forms[at]?.add(form);
  const write = (from: readonly string[], encode: Encoder): readonly string[] => {
    const encoded = encodeAll(from, encode);
    encoded.forEach(add);
    return encoded;
  };
  const dollarsDoubled = write(texts, doubleDollars);
  texts.forEach(add);
  const env = write(texts, quoteEnvValue);
  for (const quote of encoders.quotes) {
    write(env, quote);
    for (const base of [texts, dollarsDoubled]) {
      const quoted = write(base, quote);
      for (const nesting of encoders.nestingEncoders) write(quoted, nesting);
    }
  }
  for (const base of [texts, dollarsDoubled]) for (const yaml of encoders.yamls) write(base, yaml);
  for (const other of encoders.others) write(texts, other);
  for (const url of encoders.urls)
    write(texts, url)
      .map((form) => form.replaceAll('%20', '+'))
      .forEach(add);
  for (const dump of encoders.dumps)
    encodeAll(texts, dump)
      .map((form) => form.replace(/(?:[ :]|, ?)$/, ''))
      .forEach((form, at) => form.length < minFragmentLength || add(form, at));
  return [...forms.flatMap((each) => [...each]), ...texts.flatMap(base64Forms)].filter((form) => form !== '');
}

/**
 * Separates texts that are encoded in one pass, which is much faster. It is random, so that hardly any text contains
 * it.
 */
const separator = String.fromCharCode(0xa000 + Math.floor(1000 * Math.random()));

/** Encodes all texts, in one pass if the separator allows it. */
function encodeAll(texts: readonly string[], write: Encoder): readonly string[] {
  if (texts.length <= 1) return texts.map(write);
  const forms = write(texts.join(separator)).split(write(separator));
  return forms.length === texts.length ? forms : texts.map(write);
}

/**
 * The base64 of the value, with and without padding or line breaks, and its fragments inside the base64 of a longer
 * text.
 */
function base64Forms(text: string): string[] {
  const bytes = Buffer.from(`\0\0${text}`);
  const complete = bytes.toString('base64', 2);
  const fragments = [0, 1, 2].map((shift) => base64Fragment(bytes.subarray(2 - shift), shift));
  wipe(bytes);
  const lines = base64LineWidths.flatMap((width) => (fragments[0] ?? '').match(new RegExp(`.{1,${width}}`, 'g')) ?? []);
  const forms = [
    complete,
    complete.replaceAll('=', ''),
    ...[...fragments, ...lines].filter((form) => form.length >= minFragmentLength),
  ];
  return forms.flatMap((form) => (/[+/]/.test(form) ? [form, form.replaceAll('+', '-').replaceAll('/', '_')] : [form]));
}

/** The base64 characters that depend only on the bytes after the first `shift` ones. */
function base64Fragment(bytes: Buffer, shift: number): string {
  return bytes.toString('base64').slice(Math.ceil((shift * 8) / 6), Math.floor((bytes.length * 8) / 6));
}
