/** One page of a list that was read with one row more than the page holds; `last` is null if nothing follows it. */
export function toPage<Row>(rows: readonly Row[], limit: number): { items: Row[]; last: Row | null } {
  const items = rows.slice(0, limit);
  return { items, last: rows.length > limit ? (items.at(-1) ?? null) : null };
}

/** Milliseconds since 1970 in RFC 3339. */
export function toTime(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}
