/** A stretch of text, from its first code unit to the one after its last. */
export type Span = readonly [start: number, end: number];

/** Adds a span that ends last, and merges it with those it overlaps. */
export function append(spans: Span[], [from, to]: Span): void {
  let start = from;
  for (let last = spans.at(-1); last !== undefined && last[1] > start; last = spans.at(-1)) {
    start = Math.min(start, last[0]);
    spans.pop();
  }
  spans.push([start, to]);
}

/** The spans in order, those that overlap as one; sorts what it is given. */
export function merge(spans: Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.sort((one, other) => one[0] - other[0])) {
    const last = merged.at(-1);
    if (last !== undefined && span[0] < last[1]) merged[merged.length - 1] = [last[0], Math.max(last[1], span[1])];
    else merged.push(span);
  }
  return merged;
}
