const { imul } = Math;

/** Code units of a stretch. */
export const stretchUnits = 64;

/** Stretches of a word begin this far apart: each shares a unit with the next, so that what covers them is one. */
const stepUnits = stretchUnits - 1;

/** Two polynomial hashes modulo 2³²; the first one's factor, and the factor of the unit that leaves a stretch. */
const one = { factor: 0x01000193, leaving: power(0x01000193) };
const other = { factor: 0x5bd1e995, leaving: power(0x5bd1e995) };

/** Bits of the second hash that count: with the first one's they still fit into a number. */
const otherBits = 21;

/**
 * Knows long words by hashes of their stretches, which together cover a word: a word of any length costs little to hold
 * and is found in time linear in the text, and a part of it is found too.
 */
export class Stretches {
  readonly #known = new Set<number>();

  /** True when there is nothing to be found. */
  get isEmpty(): boolean {
    return this.#known.size === 0;
  }

  /** Takes note of a word of at least `stretchUnits` code units. */
  add(word: string): void {
    const last = word.length - stretchUnits;
    for (let start = 0; start < last; start += stepUnits) this.#known.add(hashOf(word, start));
    this.#known.add(hashOf(word, last));
  }

  /** Reports where in `text` a stretch ends that ends after `from`. */
  scan(text: string, from: number, found: (end: number) => void): void {
    const start = Math.max(0, from - stepUnits);
    let [first, second] = [0, 0];
    for (let at = start; at < text.length; at++) {
      const unit = text.charCodeAt(at);
      first = (imul(first, one.factor) + unit) | 0;
      second = (imul(second, other.factor) + unit) | 0;
      if (at - start < stepUnits) continue;
      if (this.#known.has(joined(first, second))) found(at + 1);
      const leaving = text.charCodeAt(at - stepUnits);
      first = (first - imul(leaving, one.leaving)) | 0;
      second = (second - imul(leaving, other.leaving)) | 0;
    }
  }
}

/** A factor for the oldest of the units of a stretch. */
function power(factor: number): number {
  let result = 1;
  for (let step = 0; step < stepUnits; step++) result = imul(result, factor);
  return result;
}

function hashOf(word: string, start: number): number {
  let [first, second] = [0, 0];
  for (let at = start; at < start + stretchUnits; at++) {
    const unit = word.charCodeAt(at);
    first = (imul(first, one.factor) + unit) | 0;
    second = (imul(second, other.factor) + unit) | 0;
  }
  return joined(first, second);
}

function joined(first: number, second: number): number {
  return (first >>> 0) * 2 ** otherBits + (second >>> (32 - otherBits));
}
