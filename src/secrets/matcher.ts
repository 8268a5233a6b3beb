/** Code units that have a precomputed step in dense states. */
const asciiUnits = 128;

/** States nearest to the root that get a precomputed step for every ASCII unit: at most 4 MiB. */
const denseStates = 8192;

/**
 * Finds every occurrence of many words at once in time linear in the text (Aho and Corasick's automaton).
 * - States are numbered breadth first, so the children of a state lie side by side, sorted by their code unit.
 * - State 0 is the root; the caller carries the state from one piece of the text to the next.
 */
export class Matcher {
  /** How many code units of the text a state remembers: none of them may leave the caller's hands yet. */
  readonly depth: Int32Array;
  /** Length of the longest word that ends in a state, 0 when none does. */
  readonly longest: Int32Array;
  /** The state of the longest shorter suffix that begins a word. */
  readonly fallback: Int32Array;
  readonly #firstChild: Int32Array;
  readonly #unit: Uint16Array;
  readonly #dense: Int32Array;

  constructor(words: Iterable<string>) {
    const trie = growTrie([...new Set(words)].filter((word) => word !== '').sort(byCodeUnit));
    this.depth = trie.depth;
    this.longest = trie.longest;
    this.#firstChild = trie.firstChild;
    this.#unit = trie.unit;
    this.fallback = new Int32Array(trie.depth.length);
    this.#dense = new Int32Array(0);
    this.#linkFallbacks();
    this.#dense = this.#precompute(Math.min(trie.depth.length, denseStates));
  }

  /** Walks over `text` and reports each place where words end; returns the state to go on from. */
  scan(text: string, from: number, found: (end: number, state: number) => void): number {
    const longest = this.longest;
    const dense = this.#dense;
    const denseCount = dense.length / asciiUnits;
    let state = from;
    for (let at = 0, length = text.length; at < length; at++) {
      const unit = text.charCodeAt(at);
      if (unit < asciiUnits && state < denseCount) state = dense[state * asciiUnits + unit] ?? 0;
      else state = this.#step(state, unit);
      if (longest[state] !== 0) found(at + 1, state);
    }
    return state;
  }

  #step(from: number, unit: number): number {
    for (let state = from; ; state = this.fallback[state] ?? 0) {
      const child = this.#child(state, unit);
      if (child !== 0 || state === 0) return child;
    }
  }

  #child(state: number, unit: number): number {
    let low = this.#firstChild[state] ?? 0;
    let high = this.#firstChild[state + 1] ?? 0;
    const end = high;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#unit[middle] ?? 0) < unit) low = middle + 1;
      else high = middle;
    }
    return low < end && this.#unit[low] === unit ? low : 0;
  }

  #linkFallbacks(): void {
    for (let parent = 0; parent < this.depth.length; parent++) {
      const end = this.#firstChild[parent + 1] ?? 0;
      for (let child = this.#firstChild[parent] ?? 0; child < end; child++) {
        const suffix = parent === 0 ? 0 : this.#step(this.fallback[parent] ?? 0, this.#unit[child] ?? 0);
        this.fallback[child] = suffix;
        if (this.longest[child] === 0) this.longest[child] = this.longest[suffix] ?? 0;
      }
    }
  }

  #precompute(count: number): Int32Array {
    const dense = new Int32Array(count * asciiUnits);
    for (let state = 0; state < count; state++) {
      const row = state * asciiUnits;
      const suffixRow = (this.fallback[state] ?? 0) * asciiUnits;
      if (state !== 0) dense.copyWithin(row, suffixRow, suffixRow + asciiUnits);
      const end = this.#firstChild[state + 1] ?? 0;
      for (let child = this.#firstChild[state] ?? 0; child < end; child++) {
        const unit = this.#unit[child] ?? 0;
        if (unit < asciiUnits) dense[row + unit] = child;
      }
    }
    return dense;
  }
}

interface Trie {
  depth: Int32Array;
  longest: Int32Array;
  firstChild: Int32Array;
  unit: Uint16Array;
}

/** A run of sorted words that share a prefix: one state of the trie. */
type Run = readonly [from: number, to: number];

function growTrie(words: readonly string[]): Trie {
  const size = countStates(words);
  const trie = {
    depth: new Int32Array(size),
    longest: new Int32Array(size),
    firstChild: new Int32Array(size + 1),
    unit: new Uint16Array(size),
  };
  let state = 0;
  let next = 1;
  for (let depth = 0, level: Run[] = [[0, words.length]]; level.length > 0; depth++) {
    const below: Run[] = [];
    for (const run of level) {
      trie.depth[state] = depth;
      trie.longest[state] = words[run[0]]?.length === depth ? depth : 0;
      trie.firstChild[state++] = next;
      for (const child of childrenOf(words, run, depth)) {
        trie.unit[next++] = words[child[0]]?.charCodeAt(depth) ?? 0;
        below.push(child);
      }
    }
    level = below;
  }
  trie.firstChild[size] = size;
  return trie;
}

function childrenOf(words: readonly string[], [from, to]: Run, depth: number): Run[] {
  const children: Run[] = [];
  let start = words[from]?.length === depth ? from + 1 : from;
  for (let at = start; at < to; at++) {
    if (at + 1 < to && words[at + 1]?.charCodeAt(depth) === words[at]?.charCodeAt(depth)) continue;
    children.push([start, at + 1]);
    start = at + 1;
  }
  return children;
}

function countStates(sorted: readonly string[]): number {
  let size = 1;
  for (const [index, word] of sorted.entries()) size += word.length - commonPrefix(sorted[index - 1] ?? '', word);
  return size;
}

function commonPrefix(one: string, other: string): number {
  let length = 0;
  while (length < one.length && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}

function byCodeUnit(one: string, other: string): number {
  return one < other ? -1 : 1;
}
