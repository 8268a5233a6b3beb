/** What backends are chosen by, the same in the address of the page and in the API. */
export const filters = ['q', 'env', 'state', 'behind', 'sick', 'deferred_by', 'swarm'] as const;

/** What the API is asked for by the address of a page: what it knows, by site where the address tells no order. */
export function listQueryOf(query: URLSearchParams): URLSearchParams {
  const known = [['sort', sortOf(query)], ...[...filters, 'after'].map((name) => [name, query.get(name) ?? ''])];
  return new URLSearchParams(known.filter(([, value]) => value !== ''));
}

function sortOf(query: URLSearchParams): string {
  return query.get('sort') ?? 'site';
}

/** The query with other values, from the first page on; null or an empty text removes a parameter. */
export function withValues(query: URLSearchParams, values: Record<string, string | null>): URLSearchParams {
  const changed = new URLSearchParams(query);
  changed.delete('after');
  for (const [name, value] of Object.entries(values))
    if (value === null || value === '') changed.delete(name);
    else changed.set(name, value);
  return changed;
}

/** As the attribute `aria-sort` has it. */
export type SortDirection = 'ascending' | 'descending' | 'none';

/** How a list is sorted by a column; `-` before its name stands for descending. */
export function directionOf(query: URLSearchParams, column: string): SortDirection {
  const sort = sortOf(query);
  if (sort === column) return 'ascending';
  return sort === `-${column}` ? 'descending' : 'none';
}

/** The query that a column's heading leads to: ascending first, then descending. */
export function sortedBy(query: URLSearchParams, column: string): URLSearchParams {
  return withValues(query, { sort: directionOf(query, column) === 'ascending' ? `-${column}` : column });
}

/** Whether a list leaves something out. */
export function isFiltered(query: URLSearchParams): boolean {
  return filters.some((name) => query.has(name));
}
