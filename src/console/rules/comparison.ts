import type { Bundle } from '../api/types.ts';

/** Two bundles that are compared, by their digests; null where there is none. */
export interface Comparison {
  from: string | null;
  to: string | null;
}

/**
 * What a page compares: as its address says; else the newest bundle, with the desired one, or with the one before it if it is that
 * itself or none is desired. Bundles are those of the env, newest first.
 */
export function comparisonOf(
  query: URLSearchParams,
  desiredSha: string | null,
  bundles: readonly Pick<Bundle, 'sha256'>[],
): Comparison {
  const chosen = (name: string) => (query.get(name) === '' ? null : query.get(name));
  const to = chosen('to') ?? bundles[0]?.sha256 ?? null;
  const place = bundles.findIndex(({ sha256 }) => sha256 === to);
  const previous = place === -1 ? null : (bundles[place + 1]?.sha256 ?? null);
  const isDesired = desiredSha === null || desiredSha === to;
  return { from: chosen('from') ?? (isDesired ? previous : desiredSha), to };
}
