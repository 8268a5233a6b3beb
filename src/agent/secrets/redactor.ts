import { AhoCorasick } from './ahoCorasick.ts';
import { RollingHashMatcher, windowUnits } from './rollingHash.ts';
import { commonEncoders, encodedFormsOf } from './secretEncodings.ts';
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
