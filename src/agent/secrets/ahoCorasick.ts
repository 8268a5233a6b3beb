/** Code units with a precomputed step in dense states. */
const asciiCodeUnits = 128;

/** Number of states, from the root on, with a precomputed step for every ASCII code unit: at most 4 MiB. */
const denseStates = 8192;

/** The fallback of a state that has not been reached yet. */
const unknownFallback = -1;

/**
 * Finds all occurrences of many words at once, in time linear in the text (the automaton of Aho and Corasick).
 * - States are numbered breadth-first, so the children of a state are adjacent and sorted by code unit.
 * - The fallback of a state beyond the dense ones is computed when a text first reaches it, because texts reach only a
 * few.
 * - State 0 is the root. The caller passes the state from one chunk of the text to the next.
 */
export class AhoCorasick {
  /** Number of code units at the end of the text that could begin a word: the caller must not release them yet. */
  readonly depth: Int32Array;
  /** Length of the longest word that ends in a state, or 0; valid for states that a text has reached. */
  readonly longest: Int32Array;
  /** The state of the longest proper suffix that begins a word; valid for states that a text has reached. */
  readonly fallback: Int32Array;
  readonly #firstChild: Int32Array;
  readonly #unit: Uint16Array;
  readonly #denseStates: number;
  readonly #dense: Int32Array;

  constructor(words: Iterable<string>) {
    const trie = buildTrie([...words].sort());
    this.depth = trie.depth;
    this.longest = trie.longest;
    this.#firstChild = trie.firstChild;
    this.#unit = trie.unit;
    this.fallback = new Int32Array(trie.depth.length).fill(unknownFallback);
    this.fallback[0] = 0;
    this.#denseStates = Math.min(trie.depth.length, denseStates);
    this.#dense = new Int32Array(this.#denseStates * asciiCodeUnits);
    for (let state = 0; state < this.#denseStates; state++) this.#precompute(state);
  }

  /**
   * Scans the code units of a text and reports each position where a word ends; returns the state for the next chunk.
   */
  scan(units: Uint16Array, from: number, found: (end: number, state: number) => void): number {
    const [dense, denseStates, longest] = [this.#dense, this.#denseStates, this.longest];
    let state = from;
    for (let at = 0; at < units.length; at++) {
      const unit = units[at] ?? 0;
      state =
        state < denseStates && unit < asciiCodeUnits
          ? (dense[state * asciiCodeUnits + unit] ?? 0)
          : this.#step(state, unit);
      if (longest[state] !== 0) found(at + 1, state);
    }
    return state;
  }

  #step(from: number, unit: number): number {
    for (let state = from; ; state = this.fallback[state] ?? 0) {
      if (unit < asciiCodeUnits && state < this.#denseStates) return this.#dense[state * asciiCodeUnits + unit] ?? 0;
      const child = this.#child(state, unit);
      if (child !== 0) return this.#reach(child, state, unit);
      if (state === 0) return 0;
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

  /** Computes fallback and longest word of a state, given its parent's. */
  #reach(state: number, parent: number, unit: number): number {
    if (this.fallback[state] !== unknownFallback) return state;
    const shorter = parent === 0 ? 0 : this.#step(this.fallback[parent] ?? 0, unit);
    this.fallback[state] = shorter;
    if (this.longest[state] === 0) this.longest[state] = this.longest[shorter] ?? 0;
    return state;
  }

  /** Fills in the steps of a state: the steps of its fallback, overwritten by the steps to its children. */
  #precompute(state: number): void {
    const row = state * asciiCodeUnits;
    const suffix = (this.fallback[state] ?? 0) * asciiCodeUnits;
    this.#dense.copyWithin(row, suffix, suffix + asciiCodeUnits);
    const end = this.#firstChild[state + 1] ?? 0;
    for (let child = this.#firstChild[state] ?? 0; child < end; child++) {
      const unit = this.#unit[child] ?? 0;
      this.#reach(child, state, unit);
      if (unit < asciiCodeUnits) this.#dense[row + unit] = child;
    }
  }
}

interface Trie {
  depth: Int32Array;
  longest: Int32Array;
  firstChild: Int32Array;
  unit: Uint16Array;
}

/**
 * Inserts the sorted words in turn: a new state gets the next number of its depth, after the states of all smaller
 * depths.
 */
function buildTrie(words: readonly string[]): Trie {
  const shared = words.map((word, index) => commonPrefix(words[index - 1] ?? '', word));
  const next = firstStates(words, shared);
  const size = next[next.length - 1] ?? 1;
  const [depth, longest, unit] = [new Int32Array(size), new Int32Array(size), new Uint16Array(size)];
  const firstChild = new Int32Array(size + 1).fill(size);
  const path = new Int32Array(next.length);
  for (const [index, word] of words.entries()) {
    for (let at = shared[index] ?? 0; at < word.length; at++) {
      const [parent, state] = [path[at] ?? 0, next[at + 1] ?? 0];
      next[at + 1] = state + 1;
      path[at + 1] = state;
      depth[state] = at + 1;
      unit[state] = word.charCodeAt(at);
      if (firstChild[parent] === size) firstChild[parent] = state;
    }
    longest[path[word.length] ?? 0] = word.length;
  }
  for (let state = size - 1; state > 0; state--)
    if (firstChild[state] === size) firstChild[state] = firstChild[state + 1] ?? size;
  return { depth, longest, firstChild, unit };
}

/** The number of the first state of each depth, followed by the total number of states. */
function firstStates(words: readonly string[], shared: readonly number[]): Int32Array {
  const deepest = words.reduce((most, word) => Math.max(most, word.length), 0);
  const counts = new Int32Array(deepest + 2);
  counts[0] = 1;
  for (const [index, word] of words.entries())
    for (let depth = (shared[index] ?? 0) + 1; depth <= word.length; depth++) counts[depth] = (counts[depth] ?? 0) + 1;
  let states = 0;
  return counts.map((count) => (states += count) - count);
}

function commonPrefix(one: string, other: string): number {
  let length = 0;
  while (one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}
