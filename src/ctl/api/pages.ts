import type { Api, ApiCall } from './client.ts';

/** A list of the API: `key` names its items, `next` is the cursor of the page after it. */
export type Page<K extends string, T> = Record<K, T[]> & { next: Cursor };
type Cursor = string | number | null;

/** Which list to read, and how much of it. */
export interface ListCall<K extends string> {
  path: string;
  query?: ApiCall['query'];
  key: K;
  /** Name of the parameter that takes the cursor. */
  cursor: 'after' | 'before';
  /** Most items that are read. */
  limit: number;
}

/** Reads page after page, up to `limit` items, as one page. */
export async function readPages<K extends string, T>(api: Api, call: ListCall<K>): Promise<Page<K, T>> {
  const { path, key, cursor, limit } = call;
  const items: T[] = [];
  let next: Cursor = null;
  do {
    const size = Math.min(maxPageSize, limit - items.length);
    const query = { ...call.query, limit: size, [cursor]: next ?? undefined };
    const page: Page<K, T> = await api.call({ method: 'GET', path, query });
    items.push(...page[key]);
    next = page.next;
  } while (next !== null && items.length < limit);
  return { [key]: items, next } as Page<K, T>;
}

const maxPageSize = 500;
