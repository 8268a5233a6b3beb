/** A range of code units of a text; `end` is exclusive. */
export type Interval = readonly [start: number, end: number];

/** Appends an interval that ends after all others, and merges it with those that it overlaps. */
export function appendInterval(intervals: Interval[], [from, to]: Interval): void {
  let start = from;
  for (let last = intervals.at(-1); last !== undefined && last[1] > start; last = intervals.at(-1)) {
    start = Math.min(start, last[0]);
    intervals.pop();
  }
  intervals.push([start, to]);
}

/** The intervals in order, with overlapping ones merged; sorts the argument in place. */
export function mergeIntervals(intervals: Interval[]): Interval[] {
  const merged: Interval[] = [];
  for (const interval of intervals.sort((one, other) => one[0] - other[0])) {
    const last = merged.at(-1);
    if (last !== undefined && interval[0] < last[1])
      merged[merged.length - 1] = [last[0], Math.max(last[1], interval[1])];
    else merged.push(interval);
  }
  return merged;
}
