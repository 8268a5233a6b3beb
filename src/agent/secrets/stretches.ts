const { imul } = Math;

/** Code units of a stretch. */
export const stretchUnits = 64;

/** Stretches of a word begin this far apart: each shares a unit with the next, so that what covers them is one. */
const stepUnits = stretchUnits - 1;

/** Two polynomial hashes modulo 2³², random ones, so that no text can be made that only seems to hold a word. */
const one = newHash();
const other = newHash();

/** Bits of the second hash that count: with the first one's they still fit into a number. */
const otherBits = 21;

/** Bits of the filter for each stretch: so seldom another text is looked up in vain. */
const filterBits = 128;

/**
 * Knows long words by hashes of their stretches, which together cover a word: a word of any length costs little to hold
 * and is found in time linear in the text, and a part of it is found too.
 */
export class Stretches {
  readonly #known = new Set<number>();
  /** A bit for each number of first bits that the first hash of a stretch begins with; most texts fail here already. */
  #filter = new Int32Array(2 ** 10);

  #spansLines = false;

  /** Code units at the end of `text`, to which more may come, that could be the head of a stretch. */
  undecided(text: string): number {
    if (this.isEmpty) return 0;
    const line = this.#spansLines ? text.length : text.length - text.lastIndexOf('\n') - 1;
    return Math.min(line, stepUnits);
  }

  /** True when there is nothing to be found. */
  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Takes note of a word of at least `stretchUnits` code units. */
  add(word: string): void {
    this.#spansLines ||= word.includes('\n');
    const last = word.length - stretchUnits;
    for (let start = 0; start < last; start += stepUnits) this.#note(word, start);
    this.#note(word, last);
  }

  /** Reports where in `units` a stretch ends that ends after `from`. */
  scan(units: Uint16Array, from: number, found: (end: number) => void): void {
    if (this.isEmpty) return;
    const filter = this.#filter;
    const shift = shiftOf(filter);
    const [oneFactor, oneLeaving, otherFactor, otherLeaving] = [one.factor, one.leaving, other.factor, other.leaving];
    const start = Math.max(0, from - stepUnits);
    let first = 0;
    let second = 0;
    for (let at = start; at < units.length; at++) {
      const unit = units[at] ?? 0;
      const leaving = at < start + stretchUnits ? 0 : (units[at - stretchUnits] ?? 0);
      first = (imul(first, oneFactor) + unit - imul(leaving, oneLeaving)) | 0;
      second = (imul(second, otherFactor) + unit - imul(leaving, otherLeaving)) | 0;
      const bit = first >>> shift;
      if (((filter[bit >>> 5] ?? 0) & (1 << bit)) === 0 || at < start + stepUnits) continue;
      if (this.#known.has(joined(first, second))) found(at + 1);
    }
  }

  #note(word: string, start: number): void {
    let [first, second] = [0, 0];
    for (let at = start; at < start + stretchUnits; at++) {
      const unit = word.charCodeAt(at);
      first = (imul(first, one.factor) + unit) | 0;
      second = (imul(second, other.factor) + unit) | 0;
    }
    this.#known.add(joined(first, second));
    if (this.#known.size * filterBits > this.#filter.length * 32) this.#widen();
    this.#mark(first >>> shiftOf(this.#filter));
  }

  #widen(): void {
    this.#filter = new Int32Array(this.#filter.length * 2);
    const shift = shiftOf(this.#filter);
    for (const known of this.#known) this.#mark(Math.floor(known / 2 ** otherBits) >>> shift);
  }

  #mark(bit: number): void {
    this.#filter[bit >>> 5] = (this.#filter[bit >>> 5] ?? 0) | (1 << bit);
  }
}

/** A factor, and the factor of the unit that leaves when the next one has come. */
function newHash() {
  const factor = 2 * Math.floor(2 ** 31 * Math.random()) + 1;
  let leaving = 1;
  for (let step = 0; step < stretchUnits; step++) leaving = imul(leaving, factor);
  return { factor, leaving };
}

/** Takes from a hash the first bits, which all units have mixed. */
function shiftOf(filter: Int32Array): number {
  return 32 - Math.log2(filter.length * 32);
}

function joined(first: number, second: number): number {
  return (first >>> 0) * 2 ** otherBits + (second >>> (32 - otherBits));
}
