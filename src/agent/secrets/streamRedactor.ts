import { StringDecoder } from 'node:string_decoder';
import type { AhoCorasick } from './ahoCorasick.ts';
import { wipe } from './memory.ts';
import { type RollingHashMatcher, windowUnits } from './rollingHash.ts';

/** A credential found by its pattern: `start` is where the pattern begins, `interval` the part to redact. */
interface TokenMatch {
  start: number;
  interval: Interval;
}

/** Tokens of the secretstore: service, batch and recovery tokens, in the old and the new format. */
const secretstoreToken = /(?:hv[sbr]|(?<![A-Za-z0-9_.-])[sbr])\.[A-Za-z0-9_-]{24,}(?:\.[A-Za-z0-9]{5,6})?/g;

/** A candidate for a JSON Web Token; `isJwt` decides. It is greedy, so that no text is scanned twice. */
const jwtCandidate = /eyJ[A-Za-z0-9_-]{10,}(?:\.[A-Za-z0-9_-]*)*/g;

const gitlabToken = /gl(?:dt|pat|cbt|ptt|rt)-[0-9A-Za-z_.-]{20,}/g;

/** A header with a credential, from its colon on; the next one or two words are redacted. */
const credentialHeader =
  /([:=](?<=(?:(?:x-vault|deploy|private|job)-token|authorization)["']?[ \t]{0,8}.)[ \t]{0,8})(?!\[REDACTED\])\S+(?:[ \t]+\S+)?/gi;

/** The credentials in `text` from `from` on, in no order; `open` means that the last word may continue. */
function findTokens(text: string, from: number, open: boolean): TokenMatch[] {
  return [
    ...matchesFrom(secretstoreToken, text, from).map(tokenMatchOf),
    ...matchesFrom(gitlabToken, text, from).map(tokenMatchOf),
    ...matchesFrom(jwtCandidate, text, from)
      .filter((match) => isJwt(match[0]) || (open && match.index + match[0].length === text.length))
      .map(tokenMatchOf),
    ...matchesFrom(credentialHeader, text, from).map(tokenMatchOf),
  ];
}

function isJwt(dotted: string): boolean {
  return /\.[A-Za-z0-9_-]{10,}/.test(dotted);
}

function matchesFrom(pattern: RegExp, text: string, from: number): RegExpExecArray[] {
  const found = new RegExp(pattern);
  found.lastIndex = from;
  return [...text.matchAll(found)];
}

/** The first group of a pattern is not part of the credential. */
function tokenMatchOf({ index, 0: whole, 1: before = '' }: RegExpExecArray): TokenMatch {
  return { start: index, interval: [index + before.length, index + whole.length] };
}

/** A range of code units of a text; `end` is exclusive. */
type Interval = readonly [start: number, end: number];

/** Code units of an unfinished line that are held back before a part is released. */
const maxHeldLine = 65_536;

/** Code units at the end of such a part that stay, so that no token is split. */
const tokenOverlap = 8192;

/** Code units kept of the released text: a mark or the name of a header may precede the next match. */
const keptContext = 32;

/** A redacted stream of text; `push` returns the text that is safe to show, `end` the rest. */
export interface RedactionStream {
  push(chunk: Buffer | string): string;
  end(): string;
  /** Instead of `end` for a truncated text: the rest without a possible beginning of a secret. */
  endTruncated(): string;
}

/** The secrets to find in a text, in addition to token patterns. */
export interface SecretMatchers {
  /** Encoded forms of the values that are redacted anywhere, and the mark itself. */
  values: AhoCorasick;
  /** The long forms, of which sufficiently long parts are redacted too. */
  longValues: RollingHashMatcher;
  /** Encoded forms of the short values; null if there are no short values. */
  shortValues: AhoCorasick | null;
}

/**
 * Redacts one stream.
 * - Every code unit is matched against the values once and against the token patterns once (in a long line at most
 *   `tokenOverlap` of every `maxHeldLine` twice).
 * - Text is released only when no further text can make it part of a match.
 * - The mark of an interval that begins before `#released` has been shown.
 */
export class StreamRedactor implements RedactionStream {
  readonly #matchers: SecretMatchers;
  readonly #decoder = new StringDecoder();
  /** The end of the released text, followed by all text that is not released. */
  #window = '';
  #released = 0;
  /** Values are searched up to here. */
  #matched = 0;
  /** Token patterns are searched up to here. */
  #tokenized = 0;
  /** Inside a token that is too long to hold back; it ends at the next white space. */
  #inLongToken = false;
  #valueState = 0;
  #shortState = 0;
  /** Sorted and disjoint. */
  #values: Interval[] = [];
  /** Sorted and disjoint. */
  #longValues: Interval[] = [];
  /** Short values whose surroundings are not complete yet; those inside a word are dropped at once. */
  #shortValues: Interval[] = [];
  /** Tokens and standalone short values, in no order. */
  #decided: Interval[] = [];

  constructor(matchers: SecretMatchers) {
    this.#matchers = matchers;
  }

  push(chunk: Buffer | string): string {
    const text = this.#decoder.write(chunk);
    this.#window += text;
    if (!text.includes('\n') && this.#window.length - this.#tokenized < maxHeldLine) return '';
    this.#match();
    this.#findTokensInLines();
    if (this.#window.length - this.#tokenized >= maxHeldLine) this.#findTokensInLongLine();
    this.#filterShortValues(this.#window.length - redactionMark.length);
    return this.#release(this.#firstUndecided());
  }

  end(): string {
    this.#window += this.#decoder.end();
    this.#match();
    this.#findTokens(this.#window.length);
    this.#filterShortValues(this.#window.length);
    return this.#release(this.#window.length);
  }

  /**
   * The matchers know a possible beginning of a value. The beginning of a token can only be in the last word, so that
   * is dropped.
   */
  endTruncated(): string {
    this.#match();
    this.#findTokens(this.#window.length);
    this.#filterShortValues(this.#window.length - redactionMark.length);
    return this.#release(Math.min(this.#firstUndecided(), Math.max(this.#released, lastWordStart(this.#window))));
  }

  #match(): void {
    const from = Math.max(0, this.#matched - windowUnits + 1);
    const known = this.#matched - from;
    withCodeUnits(this.#window.slice(from), (units) => {
      this.#matchWords(units.subarray(known), this.#matched);
      this.#matchers.longValues.scan(units, known, (end) => {
        appendInterval(this.#longValues, [from + end - windowUnits, from + end]);
      });
    });
    this.#matched = this.#window.length;
  }

  #matchWords(units: Uint16Array, base: number): void {
    const { values, shortValues } = this.#matchers;
    this.#valueState = values.scan(units, this.#valueState, (end, state) => {
      appendInterval(this.#values, [base + end - (values.longest[state] ?? 0), base + end]);
    });
    if (shortValues === null) return;
    this.#shortState = shortValues.scan(units, this.#shortState, (end, state) => {
      if (isWordCharacter(units[end])) return;
      for (let suffix = state; suffix !== 0; suffix = shortValues.fallback[suffix] ?? 0) {
        const start = end - (shortValues.depth[suffix] ?? 0);
        const isWhole = shortValues.longest[suffix] === end - start;
        if (isWhole && !isWordCharacter(units[start - 1])) this.#shortValues.push([base + start, base + end]);
      }
    });
  }

  #findTokensInLines(): void {
    const end = this.#window.lastIndexOf('\n') + 1;
    if (end > this.#tokenized) this.#findTokens(end);
  }

  /** Finds tokens in complete lines, or in the rest of the text. */
  #findTokens(end: number): void {
    this.#skipLongToken(end);
    const found = findTokens(this.#window.slice(0, end), this.#tokenized, false);
    this.#decided = this.#decided.concat(found.map(({ interval }) => interval));
    this.#tokenized = end;
  }

  /** Finds tokens in an unfinished line except in its end, so that no token is split. */
  #findTokensInLongLine(): void {
    const end = this.#window.length;
    this.#skipLongToken(end);
    let boundary = Math.max(this.#tokenized, end - tokenOverlap);
    if (/[\udc00-\udfff]/.test(this.#window.charAt(boundary))) boundary--;
    const found = findTokens(this.#window, this.#tokenized, true).sort((one, other) => one.start - other.start);
    for (const { start, interval } of found) if (start < boundary) boundary = Math.max(boundary, interval[1]);
    this.#decided = this.#decided.concat(found.filter(({ start }) => start < boundary).map(({ interval }) => interval));
    this.#inLongToken = boundary === end;
    this.#tokenized = boundary;
  }

  #skipLongToken(end: number): void {
    if (!this.#inLongToken) return;
    const length = this.#window.slice(this.#tokenized, end).search(/\s|$/);
    this.#decided.push([this.#tokenized - 1, this.#tokenized + length]);
    this.#tokenized += length;
    this.#inLongToken = false;
  }

  #filterShortValues(end: number): void {
    const undecided: Interval[] = [];
    for (const interval of this.#shortValues) {
      if (interval[1] > end) undecided.push(interval);
      else if (standsAlone(this.#window, interval)) this.#decided.push(interval);
    }
    this.#shortValues = undecided;
  }

  /** Text before this position is final, whatever follows. */
  #firstUndecided(): number {
    const end = this.#window.length;
    const value = end - (this.#matchers.values.depth[this.#valueState] ?? 0);
    const short = end - (this.#matchers.shortValues?.depth[this.#shortState] ?? 0);
    const long = end - this.#matchers.longValues.undecidedUnits(this.#window);
    const starts = this.#shortValues.map((interval) => interval[0]);
    return Math.max(this.#released, Math.min(this.#tokenized, value, short, long, ...starts));
  }

  #release(end: number): string {
    if (end === this.#released) return '';
    const intervals = mergeIntervals([...this.#values, ...this.#longValues, ...this.#decided]);
    let shown = '';
    let at = this.#released;
    for (const [from, to] of intervals) {
      if (from >= end) break;
      if (from >= this.#released) shown += this.#window.slice(at, from) + redactionMark;
      at = Math.max(at, Math.min(to, end));
    }
    shown += this.#window.slice(at, end);
    this.#dropReleased(end);
    return shown;
  }

  #dropReleased(end: number): void {
    const droppedUnits = Math.max(0, end - keptContext);
    const keep = (intervals: Interval[]) =>
      intervals
        .filter((interval) => interval[1] > end)
        .map(([from, to]): Interval => [from - droppedUnits, to - droppedUnits]);
    this.#window = this.#window.slice(droppedUnits);
    this.#released = end - droppedUnits;
    this.#matched -= droppedUnits;
    this.#tokenized -= droppedUnits;
    this.#values = keep(this.#values);
    this.#longValues = keep(this.#longValues);
    this.#decided = keep(this.#decided);
    this.#shortValues = keep(this.#shortValues);
  }
}

/** The start of the last word; the end of a text that ends with white space. */
function lastWordStart(text: string): number {
  let start = text.length;
  while (/\S/.test(text.charAt(start - 1))) start--;
  return start;
}

/** False next to a mark too: redacting a text again must not change it. */
function standsAlone(text: string, [start, end]: Interval): boolean {
  const before = text.codePointAt(isSurrogatePair(text, start - 2) ? start - 2 : start - 1);
  const adjoinsWord = isWordCharacter(before) || isWordCharacter(text.codePointAt(end));
  return !adjoinsWord && !text.endsWith(redactionMark, start) && !text.startsWith(redactionMark, end);
}

function isSurrogatePair(text: string, at: number): boolean {
  return (text.codePointAt(at) ?? 0) > 0xffff;
}

/** A letter or digit; without a pattern for ASCII, because it is called for every match in a text. */
function isWordCharacter(code = 0): boolean {
  if (code >= 0x80) return /[\p{L}\p{N}]/u.test(String.fromCodePoint(code));
  const letter = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (letter >= 0x61 && letter <= 0x7a);
}

/** The replacement for every secret (spec §14). */
export const redactionMark = '[REDACTED]';

/** Appends an interval that ends after all others, and merges it with those that it overlaps. */
function appendInterval(intervals: Interval[], [from, to]: Interval): void {
  let start = from;
  for (let last = intervals.at(-1); last !== undefined && last[1] > start; last = intervals.at(-1)) {
    start = Math.min(start, last[0]);
    intervals.pop();
  }
  intervals.push([start, to]);
}

/** The intervals in order, with overlapping ones merged; sorts the argument in place. */
function mergeIntervals(intervals: Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const interval of intervals.sort((one, other) => one[0] - other[0])) {
    const last = merged.at(-1);
    if (last !== undefined && interval[0] < last[1])
      merged[merged.length - 1] = [last[0], Math.max(last[1], interval[1])];
    else merged.push(interval);
  }
  return merged;
}

/**
 * Calls `use` with the code units of a text as an array, which a loop reads several times as fast as a string. The
 * array may hold secrets and is wiped afterwards.
 */
export function withCodeUnits(text: string, use: (units: Uint16Array) => void): void {
  const bytes = Buffer.allocUnsafeSlow(2 * text.length);
  bytes.write(text, 'utf16le');
  try {
    use(new Uint16Array(bytes.buffer));
  } finally {
    wipe(bytes);
  }
}
