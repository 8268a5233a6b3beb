import { Censor, type Matchers, type RedactorStream } from './censor.ts';
import { commonStyles, formsOf } from './encodings.ts';
import { Matcher } from './matcher.ts';
import { mark } from './shapes.ts';
import { Stretches, stretchUnits } from './stretches.ts';

/** Values of fewer characters are redacted only where no letter or digit adjoins. */
const shortestValue = 4;

/** Code units from which a value is looked for in the common styles only. */
const longValue = 4096;

/** What is left of a character that was cut too; it would hide that the text before it is the head of a secret. */
const halfCharacter = /\ufffd{1,3}$/;

/** Times that a text is redacted again because its rest and a mark make another secret; then all of it goes. */
const mostRounds = 16;

/** Takes secrets out of text. */
export interface Redactor {
  /** A whole text; redacting twice changes nothing more. */
  redact(text: string): string;
  /** A text that somebody cut: what could be the head of a secret goes too, and the last word in any case. */
  redactHead(text: string): string;
  /** A text that comes in pieces, cut anywhere. */
  stream(): RedactorStream;
}

/** A redactor of token shapes and of these secrets in all their encodings; secrets of white space alone hide nothing (spec §14). */
export function createRedactor(secrets: Iterable<string>): Redactor {
  const matchers = compile([...new Set(secrets)].filter((secret) => secret.trim() !== ''));
  const stream = () => new Censor(matchers);
  const once = (text: string) => {
    const censor = stream();
    return censor.push(text) + censor.end();
  };
  const redact = (text: string): string => {
    let redacted = text;
    for (let round = 0; round < mostRounds; round++) {
      const last = redacted;
      redacted = once(last);
      if (redacted === last) return redacted;
    }
    return mark;
  };
  const redactHead = (text: string) => {
    const censor = stream();
    return redact(censor.push(text.replace(halfCharacter, '')) + censor.cut());
  };
  return { redact, redactHead, stream };
}

function compile(secrets: string[]): Matchers {
  const shorts = formsOf([...new Set(secrets.flatMap(shortPartsOf))]);
  const words = [mark];
  const stretches = new Stretches();
  for (const form of longForms(secrets)) {
    if (form.length < stretchUnits) words.push(form);
    else stretches.add(form);
  }
  return { values: new Matcher(words), stretches, shorts: shorts.length > 0 ? new Matcher(shorts) : null };
}

/** Forms of each value and of each of its lines: of long values one by one, of the others together. */
function* longForms(secrets: string[]): Generator<string> {
  const isLong = (secret: string) => secret.length >= longValue;
  for (const secret of secrets.filter(isLong)) yield* formsOf(partsOf([secret]), commonStyles);
  yield* formsOf(partsOf(secrets.filter((secret) => !isLong(secret))));
}

/** A short value without the white space around it, and its lines where all of them are short: those of others are mere punctuation. */
function shortPartsOf(secret: string): string[] {
  const parts = [secret, secret.trim()].filter(isShort);
  const lines = linesOf(secret).filter((line) => line !== '');
  return lines.every(isShort) ? [...parts, ...lines] : parts;
}

function linesOf(secret: string): string[] {
  return secret.split(/[\r\n]+/).map((line) => line.trim());
}

function partsOf(secrets: string[]): string[] {
  const parts = secrets.flatMap((secret) => [secret, ...linesOf(secret)]);
  return [...new Set(parts)].filter((part) => !isShort(part));
}

function isShort(text: string): boolean {
  return Array.from(text.slice(0, 2 * shortestValue)).length < shortestValue;
}
