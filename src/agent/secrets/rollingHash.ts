const { imul } = Math;

/** Code units of a window. */
export const windowUnits = 64;

/** Distance between the windows of a word: each overlaps the next by one code unit, so that their intervals merge. */
const windowStep = windowUnits - 1;

/** Two polynomial hashes modulo 2³². They are random, so that nobody can construct a text with false matches. */
const firstHash = createHash();
const secondHash = createHash();

/** Bits used of the second hash; together with the bits of the first they fit into a number. */
const secondHashBits = 21;

/** Bits of the filter for each window; more bits make useless lookups rarer. */
const filterBits = 128;

/**
 * Finds long words, and parts of them, by the hashes of their windows (the algorithm of Rabin and Karp). A word takes
 * little memory, and the search takes time linear in the text.
 */
export class RollingHashMatcher {
  readonly #known = new Set<number>();
  /** A bit for each prefix of a first hash; most text is rejected here, without a lookup. */
  #filter = new Int32Array(2 ** 10);

  #spansLines = false;

  /** Number of code units at the end of `text`, which may continue, that could begin a window. */
  undecidedUnits(text: string): number {
    if (this.isEmpty) return 0;
    const line = this.#spansLines ? text.length : text.length - text.lastIndexOf('\n') - 1;
    return Math.min(line, windowStep);
  }

  /** True when no word was added. */
  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Adds a word of at least `windowUnits` code units. */
  add(word: string): void {
    this.#spansLines ||= word.includes('\n');
    const last = word.length - windowUnits;
    for (let start = 0; start < last; start += windowStep) this.#addWindow(word, start);
    this.#addWindow(word, last);
  }

  /** Reports the end of each window in `units` that ends after `from`. */
  scan(units: Uint16Array, from: number, found: (end: number) => void): void {
    if (this.isEmpty) return;
    const filter = this.#filter;
    const shift = shiftOf(filter);
    const [firstFactor, firstLeaving, secondFactor, secondLeaving] = [
      firstHash.factor,
      firstHash.leaving,
      secondHash.factor,
      secondHash.leaving,
    ];
    const start = Math.max(0, from - windowStep);
    let first = 0;
    let second = 0;
    for (let at = start; at < units.length; at++) {
      const unit = units[at] ?? 0;
      const leaving = at < start + windowUnits ? 0 : (units[at - windowUnits] ?? 0);
      first = (imul(first, firstFactor) + unit - imul(leaving, firstLeaving)) | 0;
      second = (imul(second, secondFactor) + unit - imul(leaving, secondLeaving)) | 0;
      const bit = first >>> shift;
      if (((filter[bit >>> 5] ?? 0) & (1 << bit)) === 0 || at < start + windowStep) continue;
      if (this.#known.has(combineHashes(first, second))) found(at + 1);
    }
  }

  #addWindow(word: string, start: number): void {
    let first = 0;
    let second = 0;
    for (let at = start; at < start + windowUnits; at++) {
      const unit = word.charCodeAt(at);
      first = (imul(first, firstHash.factor) + unit) | 0;
      second = (imul(second, secondHash.factor) + unit) | 0;
    }
    this.#known.add(combineHashes(first, second));
    if (this.#known.size * filterBits > this.#filter.length * 32) this.#growFilter();
    this.#setFilterBit(first >>> shiftOf(this.#filter));
  }

  #growFilter(): void {
    this.#filter = new Int32Array(this.#filter.length * 2);
    const shift = shiftOf(this.#filter);
    for (const known of this.#known) this.#setFilterBit(Math.floor(known / 2 ** secondHashBits) >>> shift);
  }

  #setFilterBit(bit: number): void {
    this.#filter[bit >>> 5] = (this.#filter[bit >>> 5] ?? 0) | (1 << bit);
  }
}

/** The factor of a hash, and the factor of the code unit that leaves the window. */
function createHash() {
  const factor = 2 * Math.floor(2 ** 31 * Math.random()) + 1;
  let leaving = 1;
  for (let step = 0; step < windowUnits; step++) leaving = imul(leaving, factor);
  return { factor, leaving };
}

/** The shift that leaves the top bits of a hash, which depend on all code units. */
function shiftOf(filter: Int32Array): number {
  return 32 - Math.log2(filter.length * 32);
}

function combineHashes(first: number, second: number): number {
  return (first >>> 0) * 2 ** secondHashBits + (second >>> (32 - secondHashBits));
}
