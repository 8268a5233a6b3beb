import { StringDecoder } from 'node:string_decoder';
import type { Matcher } from './matcher.ts';
import { mark, shapesIn } from './shapes.ts';
import { append, merge, type Span } from './spans.ts';
import { stretchUnits, type Stretches } from './stretches.ts';
import { withUnits } from './units.ts';

/** Code units of an unfinished line that are held back before part of it is let go. */
const longestLine = 65_536;

/** Code units at the end of such a part that stay, lest a token be cut in two. */
const overlap = 8192;

/** Code units kept of what has been let go: what adjoins the next match may be a mark, or the name of a header. */
const context = 32;

/** One text on its way through; `push` returns what is safe to show, `end` the rest. */
export interface RedactorStream {
  push(chunk: Buffer | string): string;
  end(): string;
  /** Instead of `end`, where somebody cut the text: the rest but for what could be the head of a secret. */
  cut(): string;
}

/** What is looked for in a text, beside the shapes of tokens. */
export interface Matchers {
  /** Forms of the values that are redacted anywhere, and the mark itself. */
  values: Matcher;
  /** The long ones among them, of which any part of some length is redacted, too. */
  stretches: Stretches;
  /** Forms of the short ones; null when there are none. */
  shorts: Matcher | null;
}

/**
 * Redacts one stream.
 * - Every code unit is matched once and judged for shapes once (at most `overlap` of each `longestLine` twice).
 * - Nothing is let go that a longer text could still turn into part of a match.
 * - A span that begins before `#sent` has had its mark.
 */
export class Censor implements RedactorStream {
  readonly #matchers: Matchers;
  readonly #decoder = new StringDecoder('utf8');
  /** The end of what was let go, then all that was not. */
  #window = '';
  #sent = 0;
  /** Values are looked for up to here. */
  #matched = 0;
  /** Shapes are judged up to here. */
  #judged = 0;
  /** A shape too long to hold has begun and ends with the next white space. */
  #swallowing = false;
  #valueState = 0;
  #shortState = 0;
  /** Sorted, and never overlapping. */
  #values: Span[] = [];
  /** Likewise. */
  #stretches: Span[] = [];
  /** Not yet judged by all that adjoins them; those that clearly stand in a word never come here. */
  #shorts: Span[] = [];
  /** Shapes, and shorts that stand alone, in no order. */
  #others: Span[] = [];

  constructor(matchers: Matchers) {
    this.#matchers = matchers;
  }

  push(chunk: Buffer | string): string {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    this.#window += text;
    if (!text.includes('\n') && this.#window.length - this.#judged < longestLine) return '';
    this.#match();
    this.#judgeLines();
    if (this.#window.length - this.#judged >= longestLine) this.#judgeLongLine();
    this.#judgeShorts(this.#window.length - mark.length);
    return this.#letGo(this.#firstUndecided());
  }

  end(): string {
    this.#window += this.#decoder.end();
    this.#match();
    this.#judge(this.#window.length);
    this.#judgeShorts(this.#window.length);
    return this.#letGo(this.#window.length);
  }

  /** What could be the head of a value is known; the head of a token shows in the last word only, so that goes whole. */
  cut(): string {
    this.#match();
    this.#judge(this.#window.length);
    this.#judgeShorts(this.#window.length - mark.length);
    return this.#letGo(Math.min(this.#firstUndecided(), Math.max(this.#sent, lastWord(this.#window))));
  }

  #match(): void {
    const from = Math.max(0, this.#matched - stretchUnits + 1);
    const known = this.#matched - from;
    withUnits(this.#window.slice(from), (units) => {
      this.#matchWords(units.subarray(known), this.#matched);
      this.#matchers.stretches.scan(units, known, (end) => {
        append(this.#stretches, [from + end - stretchUnits, from + end]);
      });
    });
    this.#matched = this.#window.length;
  }

  #matchWords(units: Uint16Array, base: number): void {
    const { values, shorts } = this.#matchers;
    this.#valueState = values.scan(units, this.#valueState, (end, state) => {
      append(this.#values, [base + end - (values.longest[state] ?? 0), base + end]);
    });
    if (shorts === null) return;
    this.#shortState = shorts.scan(units, this.#shortState, (end, state) => {
      if (isWord(units[end])) return;
      for (let suffix = state; suffix !== 0; suffix = shorts.fallback[suffix] ?? 0) {
        const start = end - (shorts.depth[suffix] ?? 0);
        const isWhole = shorts.longest[suffix] === end - start;
        if (isWhole && !isWord(units[start - 1])) this.#shorts.push([base + start, base + end]);
      }
    });
  }

  #judgeLines(): void {
    const end = this.#window.lastIndexOf('\n') + 1;
    if (end > this.#judged) this.#judge(end);
  }

  /** Judges whole lines, or the rest of the text. */
  #judge(end: number): void {
    this.#swallow(end);
    const found = shapesIn(this.#window.slice(0, end), this.#judged, false);
    this.#others = this.#others.concat(found.map(({ span }) => span));
    this.#judged = end;
  }

  /** Judges all of an unfinished line but its end, so that no shape is cut. */
  #judgeLongLine(): void {
    const end = this.#window.length;
    this.#swallow(end);
    let cut = Math.max(this.#judged, end - overlap);
    if (/[\udc00-\udfff]/.test(this.#window.charAt(cut))) cut--;
    const found = shapesIn(this.#window, this.#judged, true).sort((one, other) => one.start - other.start);
    for (const { start, span } of found) if (start < cut) cut = Math.max(cut, span[1]);
    this.#others = this.#others.concat(found.filter(({ start }) => start < cut).map(({ span }) => span));
    this.#swallowing ||= cut === end;
    this.#judged = cut;
  }

  #swallow(end: number): void {
    if (!this.#swallowing) return;
    const word = /\S*/y;
    word.lastIndex = this.#judged;
    const length = word.exec(this.#window.slice(0, end))?.[0].length ?? 0;
    this.#others.push([this.#judged - 1, this.#judged + length]);
    this.#judged += length;
    this.#swallowing = this.#judged === end;
  }

  #judgeShorts(end: number): void {
    const open: Span[] = [];
    for (const span of this.#shorts) {
      if (span[1] > end) open.push(span);
      else if (standsAlone(this.#window, span)) this.#others.push(span);
    }
    this.#shorts = open;
  }

  /** Everything before this is settled, whatever follows. */
  #firstUndecided(): number {
    const end = this.#window.length;
    const value = end - (this.#matchers.values.depth[this.#valueState] ?? 0);
    const short = end - (this.#matchers.shorts?.depth[this.#shortState] ?? 0);
    const stretch = end - this.#matchers.stretches.undecided(this.#window);
    const starts = this.#shorts.map((span) => span[0]);
    return Math.max(this.#sent, Math.min(this.#judged, value, short, stretch, ...starts));
  }

  #letGo(end: number): string {
    if (end === this.#sent) return '';
    const spans = merge([...this.#values, ...this.#stretches, ...this.#others]);
    let shown = '';
    let at = this.#sent;
    for (const [from, to] of spans) {
      if (from >= end) break;
      if (from >= this.#sent) shown += this.#window.slice(at, from) + mark;
      at = Math.max(at, Math.min(to, end));
    }
    shown += this.#window.slice(at, end);
    this.#forget(end);
    return shown;
  }

  #forget(end: number): void {
    const gone = Math.max(0, end - context);
    const keep = (spans: Span[]) =>
      spans.filter((span) => span[1] > end).map(([from, to]): Span => [from - gone, to - gone]);
    this.#window = this.#window.slice(gone);
    this.#sent = end - gone;
    this.#matched -= gone;
    this.#judged -= gone;
    this.#values = keep(this.#values);
    this.#stretches = keep(this.#stretches);
    this.#others = keep(this.#others);
    this.#shorts = keep(this.#shorts);
  }
}

/** Where the last word begins; the end, where white space is last. */
function lastWord(text: string): number {
  let start = text.length;
  while (start > 0 && /\S/.test(text.charAt(start - 1))) start--;
  return start;
}

/** What adjoins a mark has been judged before; to judge it again could only differ. */
function standsAlone(text: string, [start, end]: Span): boolean {
  const before = text.codePointAt(isPair(text, start - 2) ? start - 2 : start - 1);
  const adjoinsWord = isWord(before) || isWord(text.codePointAt(end));
  return !adjoinsWord && !text.endsWith(mark, start) && !text.startsWith(mark, end);
}

function isPair(text: string, at: number): boolean {
  return (text.codePointAt(at) ?? 0) > 0xffff;
}

/** A letter or digit; those of ASCII are told without a pattern, for there may be one at each unit of a text. */
function isWord(code = 0): boolean {
  if (code >= 0x80) return /[\p{L}\p{N}]/u.test(String.fromCodePoint(code));
  const letter = code | 0x20;
  return (code >= 0x30 && code <= 0x39) || (letter >= 0x61 && letter <= 0x7a);
}
