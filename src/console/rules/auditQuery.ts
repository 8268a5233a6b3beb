/** What entries are chosen by, the same in the address of the page and in the API. */
const filters = ['env', 'actor', 'act'] as const;

type Filter = (typeof filters)[number];

/** What the API is asked for by the address of a page. */
export function auditQueryOf(query: URLSearchParams, limit: number): URLSearchParams {
  const known = [...filters, 'before'].map((name) => [name, query.get(name) ?? '']);
  return new URLSearchParams([['limit', String(limit)], ...known.filter(([, value]) => value !== '')]);
}

/** The query with other filters, from the newest entry on; an empty text removes one. */
export function filteredBy(query: URLSearchParams, values: Partial<Record<Filter, string>>): URLSearchParams {
  const chosen = filters.map((name) => [name, values[name] ?? query.get(name) ?? '']);
  return new URLSearchParams(chosen.filter(([, value]) => value !== ''));
}

/** Whether a list leaves something out. */
export function isAuditFiltered(query: URLSearchParams): boolean {
  return filters.some((name) => query.has(name));
}
