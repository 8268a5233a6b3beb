import { StringDecoder } from 'node:string_decoder';
import { allStyles, commonStyles, formsOf } from './encodings.ts';
import { Matcher } from './matcher.ts';
import { mark, shapesIn } from './shapes.ts';
import { append, merge, type Span } from './spans.ts';
import { Stretches, stretchUnits } from './stretches.ts';

/** Values of fewer characters are redacted only where no letter or digit adjoins. */
const shortestValue = 4;

/** Code units from which a value is looked for in the common styles only. */
const longValue = 4096;

/** Code units of an unfinished line that are held back before part of it is let go. */
const longestLine = 65_536;

/** Code units at the end of such a part that stay, lest a token be cut in two. */
const overlap = 8192;

/** Code units kept of what has been let go: what adjoins the next match may be a mark. */
const context = 16;

/** Takes secrets out of text. */
export interface Redactor {
  /** A whole text; redacting twice changes nothing more. */
  redact(text: string): string;
  /** A text that comes in pieces, cut anywhere. */
  stream(): RedactorStream;
}

/** One text on its way through; `push` returns what is safe to show, `end` the rest. */
export interface RedactorStream {
  push(chunk: Buffer | string): string;
  end(): string;
}

interface Matchers {
  /** Forms of the values that are redacted anywhere, and the mark itself. */
  values: Matcher;
  /** The long ones among them, of which any part of some length is redacted, too. */
  stretches: Stretches;
  /** Forms of the short ones; null when there are none. */
  shorts: Matcher | null;
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
    for (let last = null; redacted !== last; redacted = once(redacted)) last = redacted;
    return redacted;
  };
  return { redact, stream };
}

function compile(secrets: string[]): Matchers {
  const shorts = secrets.filter(isShort).flatMap((secret) => [...formsOf(secret)]);
  const words = [mark];
  const stretches = new Stretches();
  for (const form of longForms(secrets)) {
    if (form.length < stretchUnits) words.push(form);
    else stretches.add(form);
  }
  return { values: new Matcher(words), stretches, shorts: shorts.length > 0 ? new Matcher(shorts) : null };
}

/** Forms of each value and of each of its lines. */
function* longForms(secrets: string[]): Generator<string> {
  const done = new Set<string>();
  for (const secret of secrets) {
    const styles = secret.length < longValue ? allStyles : commonStyles;
    for (const text of [secret, ...secret.split(/[\r\n]+/).map((line) => line.trim())]) {
      if (isShort(text) || done.has(text)) continue;
      done.add(text);
      yield* formsOf(text, styles);
    }
  }
}

function isShort(text: string): boolean {
  return Array.from(text.slice(0, 2 * shortestValue)).length < shortestValue;
}

/**
 * Redacts one stream.
 * - Every code unit is matched once and judged for shapes once (at most `overlap` of each `longestLine` twice).
 * - Nothing is let go that a longer text could still turn into part of a match.
 * - A span that begins before `#sent` has had its mark.
 */
class Censor implements RedactorStream {
  readonly #matchers: Matchers;
  readonly #decoder = new StringDecoder('utf8');
  /** The end of what was let go, then all that was not. */
  #window = '';
  #sent = 0;
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
  /** Stretches are looked for up to here. */
  #searched = 0;
  /** Not yet judged by what adjoins them. */
  #shorts: Span[] = [];
  /** Shapes, and shorts that stand alone, in no order. */
  #others: Span[] = [];

  constructor(matchers: Matchers) {
    this.#matchers = matchers;
  }

  push(chunk: Buffer | string): string {
    const text = typeof chunk === 'string' ? chunk : this.#decoder.write(chunk);
    this.#match(text);
    this.#window += text;
    if (!text.includes('\n') && this.#window.length - this.#judged < longestLine) return '';
    this.#judgeLines();
    if (this.#window.length - this.#judged >= longestLine) this.#judgeLongLine();
    this.#judgeShorts(this.#window.length - mark.length);
    this.#search();
    return this.#letGo(this.#firstUndecided());
  }

  end(): string {
    const text = this.#decoder.end();
    this.#match(text);
    this.#window += text;
    this.#judge(this.#window.length);
    this.#judgeShorts(this.#window.length);
    this.#search();
    return this.#letGo(this.#window.length);
  }

  #match(text: string): void {
    const base = this.#window.length;
    const { values, shorts } = this.#matchers;
    this.#valueState = values.scan(text, this.#valueState, (end, state) => {
      append(this.#values, [base + end - (values.longest[state] ?? 0), base + end]);
    });
    if (shorts === null) return;
    this.#shortState = shorts.scan(text, this.#shortState, (end, state) => {
      for (let suffix = state; suffix !== 0; suffix = shorts.fallback[suffix] ?? 0) {
        if (shorts.longest[suffix] === shorts.depth[suffix]) {
          this.#shorts.push([base + end - (shorts.depth[suffix] ?? 0), base + end]);
        }
      }
    });
  }

  #search(): void {
    const { stretches } = this.#matchers;
    if (stretches.isEmpty) return;
    stretches.scan(this.#window, this.#searched, (end) => append(this.#stretches, [end - stretchUnits, end]));
    this.#searched = this.#window.length;
  }

  #judgeLines(): void {
    const end = this.#window.lastIndexOf('\n') + 1;
    if (end > this.#judged) this.#judge(end);
  }

  /** Judges whole lines, or the rest of the text. */
  #judge(end: number): void {
    this.#swallow(end);
    this.#others = this.#others.concat(shapesIn(this.#window.slice(0, end), this.#judged, false));
    this.#judged = end;
  }

  /** Judges all of an unfinished line but its end, so that no shape is cut. */
  #judgeLongLine(): void {
    const end = this.#window.length;
    this.#swallow(end);
    let cut = Math.max(this.#judged, end - overlap);
    if (/[\udc00-\udfff]/.test(this.#window.charAt(cut))) cut--;
    const found = merge(shapesIn(this.#window, this.#judged, true));
    for (const [from, to] of found) if (from < cut) cut = Math.max(cut, to);
    this.#others = this.#others.concat(found.filter(([from]) => from < cut));
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
    const ready = this.#shorts.filter((span) => span[1] <= end);
    this.#others = this.#others.concat(ready.filter((span) => standsAlone(this.#window, span)));
    this.#shorts = this.#shorts.filter((span) => span[1] > end);
  }

  /** Everything before this is settled, whatever follows. */
  #firstUndecided(): number {
    const end = this.#window.length;
    const value = end - (this.#matchers.values.depth[this.#valueState] ?? 0);
    const short = end - (this.#matchers.shorts?.depth[this.#shortState] ?? 0);
    const stretch = this.#matchers.stretches.isEmpty ? end : end - stretchUnits + 1;
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
    this.#judged -= gone;
    this.#searched -= gone;
    this.#values = keep(this.#values);
    this.#stretches = keep(this.#stretches);
    this.#others = keep(this.#others);
    this.#shorts = keep(this.#shorts);
  }
}

/** What adjoins a mark has been judged before; to judge it again could only differ. */
function standsAlone(text: string, [start, end]: Span): boolean {
  const before = text.slice(Math.max(0, start - mark.length), start);
  const after = text.slice(end, end + mark.length);
  return !/[\p{L}\p{N}]$/u.test(before) && !/^[\p{L}\p{N}]/u.test(after) && before !== mark && after !== mark;
}
