/** Hex digits of a digest that tables show; `promote` accepts as few. */
export const shortShaLength = 12;

/** The beginning of a digest; a dash for none. */
export function shortSha(sha: string | null): string {
  return sha?.slice(0, shortShaLength) ?? '-';
}
