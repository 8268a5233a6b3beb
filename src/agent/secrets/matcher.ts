/** Code units that have a precomputed step in dense states. */
const asciiUnits = 128;

/** States nearest to the root that get a precomputed step for every ASCII unit: at most 4 MiB. */
const denseStates = 8192;

/** What a state falls back to as long as nobody has come there. */
const unknown = -1;

/**
 * Finds every occurrence of many words at once in time linear in the text (Aho and Corasick's automaton).
 * - States are numbered breadth first, so the children of a state lie side by side, sorted by their code unit.
 * - What a state beyond the dense ones falls back to is worked out when the text first leads there: few are ever reached.
 * - State 0 is the root; the caller carries the state from one piece of the text to the next.
 */
export class Matcher {
  /** How many code units of the text a state remembers: none of them may leave the caller's hands yet. */
  readonly depth: Int32Array;
  /** Length of the longest word that ends in a state, 0 when none does; of states that the text has led to. */
  readonly longest: Int32Array;
  /** The state of the longest shorter suffix that begins a word; of states that the text has led to. */
  readonly fallback: Int32Array;
  readonly #firstChild: Int32Array;
  readonly #unit: Uint16Array;
  readonly #denseStates: number;
  readonly #dense: Int32Array;

  constructor(words: Iterable<string>) {
    const trie = growTrie([...words].sort());
    this.depth = trie.depth;
    this.longest = trie.longest;
    this.#firstChild = trie.firstChild;
    this.#unit = trie.unit;
    this.fallback = new Int32Array(trie.depth.length).fill(unknown);
    this.fallback[0] = 0;
    this.#denseStates = Math.min(trie.depth.length, denseStates);
    this.#dense = new Int32Array(this.#denseStates * asciiUnits);
    for (let state = 0; state < this.#denseStates; state++) this.#precompute(state);
  }

  /** Walks over the units of a text and reports each place where words end; returns the state to go on from. */
  scan(units: Uint16Array, from: number, found: (end: number, state: number) => void): number {
    const [dense, denseStates, longest] = [this.#dense, this.#denseStates, this.longest];
    let state = from;
    for (let at = 0; at < units.length; at++) {
      const unit = units[at] ?? 0;
      state =
        state < denseStates && unit < asciiUnits ? (dense[state * asciiUnits + unit] ?? 0) : this.#step(state, unit);
      if (longest[state] !== 0) found(at + 1, state);
    }
    return state;
  }

  #step(from: number, unit: number): number {
    for (let state = from; ; state = this.fallback[state] ?? 0) {
      if (unit < asciiUnits && state < this.#denseStates) return this.#dense[state * asciiUnits + unit] ?? 0;
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

  /** Completes a state whose parent is complete. */
  #reach(state: number, parent: number, unit: number): number {
    if (this.fallback[state] !== unknown) return state;
    const shorter = parent === 0 ? 0 : this.#step(this.fallback[parent] ?? 0, unit);
    this.fallback[state] = shorter;
    if (this.longest[state] === 0) this.longest[state] = this.longest[shorter] ?? 0;
    return state;
  }

  /** A state's steps: those of what it falls back to, and those to its children. */
  #precompute(state: number): void {
    const row = state * asciiUnits;
    const suffix = (this.fallback[state] ?? 0) * asciiUnits;
    if (state !== 0) this.#dense.copyWithin(row, suffix, suffix + asciiUnits);
    const end = this.#firstChild[state + 1] ?? 0;
    for (let child = this.#firstChild[state] ?? 0; child < end; child++) {
      const unit = this.#unit[child] ?? 0;
      this.#reach(child, state, unit);
      if (unit < asciiUnits) this.#dense[row + unit] = child;
    }
  }
}

interface Trie {
  depth: Int32Array;
  longest: Int32Array;
  firstChild: Int32Array;
  unit: Uint16Array;
}

/** Adds sorted words one after the other: a new state's number is the next one of its depth, after all shallower ones. */
function growTrie(words: readonly string[]): Trie {
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

/** The number of the first state of each depth, and at the end the number of all states. */
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
  while (length < one.length && one.charCodeAt(length) === other.charCodeAt(length)) length++;
  return length;
}
