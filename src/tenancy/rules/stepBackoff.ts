const FIRST_MS = 5000;
const LONGEST_MS = 10 * 60_000;

/** Milliseconds until a step that has failed so many times is tried again: 5 s, doubled each time, at most 10 minutes. */
export function stepBackoff(tries: number): number {
  return Math.min(FIRST_MS * 2 ** Math.max(tries - 1, 0), LONGEST_MS);
}
