/** Seconds by which clocks may differ: the leeway that a secretstore has by default. */
export const maxSkewS = 60;

/** `12 s ahead of` or `12 s behind`; `skewS` is positive when the clock of this host is ahead. */
export function formatSkew(skewS: number): string {
  return `${Math.abs(skewS)} s ${skewS > 0 ? 'ahead of' : 'behind'}`;
}
