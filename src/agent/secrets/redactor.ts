import { AhoCorasick } from './ahoCorasick.ts';
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
import { RollingHashMatcher, windowUnits } from './rollingHash.ts';
import { redactionMark, type RedactionStream, type SecretMatchers, StreamRedactor } from './streamRedactor.ts';

/** A value of fewer characters is redacted only where no letter or digit is next to it. */
const minValueLength = 4;

/** Code units from which a value is searched only in its common encodings. */
const longValueUnits = 4096;

/** The rest of a truncated character; it would hide that the text before it is the beginning of a secret. */
const truncatedCharacter = /\ufffd{1,3}$/;

/**
 * How often a text is redacted again because a mark and its surroundings form another secret; then all text is dropped.
 */
const maxRounds = 16;

/** Replaces secrets in text by a mark. */
export interface Redactor {
  /** Redacts a complete text; redacting the result again changes nothing. */
  redact(text: string): string;
  /** Redacts a truncated text: also drops a possible beginning of a secret, and always the last word. */
  redactTruncated(text: string): string;
  /** Redacts a text that arrives in chunks, split anywhere. */
  redactStream(): RedactionStream;
}

/**
 * A redactor of token patterns and of these secrets in all encodings; a secret of only white space is ignored (spec
 * §14).
 */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const matchers = compileMatchers([...new Set(secrets)].filter((secret) => secret.trim() !== ''));
  const redactStream = () => new StreamRedactor(matchers);
  const once = (text: string) => {
    const stream = redactStream();
    return stream.push(text) + stream.end();
  };
  const redact = (text: string): string => {
    let redacted = text;
    for (let round = 0; round < maxRounds; round++) {
      const last = redacted;
      redacted = once(last);
      if (redacted === last) return redacted;
    }
    return redactionMark;
  };
  const redactTruncated = (text: string) => {
    const stream = redactStream();
    return redact(stream.push(text.replace(truncatedCharacter, '')) + stream.endTruncated());
  };
  return { redact, redactTruncated, redactStream };
}

function compileMatchers(secrets: string[]): SecretMatchers {
  const shorts = encodedFormsOf([...new Set(secrets.flatMap(shortPartsOf))]);
  const words = [redactionMark];
  const longValues = new RollingHashMatcher();
  for (const form of encodedLongForms(secrets)) {
    if (form.length < windowUnits) words.push(form);
    else longValues.add(form);
  }
  return {
    values: new AhoCorasick(words),
    longValues,
    shortValues: shorts.length > 0 ? new AhoCorasick(shorts) : null,
  };
}

/** Encoded forms of each value and each of its lines. Long values are encoded one by one, the others together. */
function* encodedLongForms(secrets: string[]): Generator<string> {
  const isLong = (secret: string) => secret.length >= longValueUnits;
  for (const secret of secrets.filter(isLong)) yield* encodedFormsOf(partsOf([secret]), commonEncoders);
  yield* encodedFormsOf(partsOf(secrets.filter((secret) => !isLong(secret))));
}

/**
 * A short value, also trimmed. Its short lines count only if all are short: beside longer lines, short ones such as `}`
 * are not secrets.
 */
function shortPartsOf(secret: string): string[] {
  const parts = [secret, secret.trim()].filter(isShort);
  const lines = linesOf(secret);
  return lines.every(isShort) ? [...parts, ...lines] : parts;
}

function linesOf(secret: string): string[] {
  return secret.split(/[\r\n]/).map((line) => line.trim());
}

function partsOf(secrets: string[]): string[] {
  const parts = secrets.flatMap((secret) => [secret, ...linesOf(secret)]);
  return [...new Set(parts)].filter((part) => !isShort(part));
}

function isShort(text: string): boolean {
  return Array.from(text.slice(0, 2 * minValueLength)).length < minValueLength;
}

/** Line widths of base64 tools: PEM and MIME. */
const base64LineWidths = [64, 76];

/** Fewest characters of a base64 fragment or byte dump that are unlikely to occur by chance. */
const minFragmentLength = 4;

/** The encodings in which a text is searched; each costs time and memory in proportion to the text. */
interface EncoderSet {
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
const allEncoders: EncoderSet = {
  quotes: Object.values(jsonEncoders),
  nestingEncoders,
  yamls: Object.values(yamlEncoders),
  others: [reprEncoders, shellEncoders, entityEncoders].flatMap((named) => Object.values(named)),
  urls: Object.values(urlEncoders).flat(),
  dumps: Object.values(byteDumpEncoders),
};

/** The common encodings, for long values and their lines. */
const commonEncoders: EncoderSet = {
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
function encodedFormsOf(texts: readonly string[], encoders = allEncoders): string[] {
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
