import { type Api, type ApiCall, path } from './client.ts';
import { CtlError, exits, usageError } from './ctlError.ts';
import type { Bundle } from './types.ts';

/** A list of the API: `key` names its items, `next` is the cursor of the page after it. */
export type Page<K extends string, T> = Record<K, T[]> & { next: Cursor };
type Cursor = string | number | null;

/** Which list to read, and how much of it. */
interface ListCall<K extends string> {
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

/**
 * Digest of the one bundle, of an env or of all, whose digest begins so; a whole digest is not looked up. Throws SHA_INVALID,
 * and BUNDLE_NOT_FOUND if none or several begin so.
 */
export async function wholeSha(api: Api, begins: string, env?: string): Promise<string> {
  if (!/^[0-9a-f]{8,64}$/.test(begins))
    throw usageError('SHA_INVALID', `${begins} is not a digest: 8 to 64 hex digits`);
  if (begins.length === 64) return begins;
  const call = { path: '/v1/bundles', query: { env }, key: 'bundles', cursor: 'after', limit: Infinity } as const;
  const { bundles } = await readPages<'bundles', Bundle>(api, call);
  const [found, ...more] = bundles.filter(({ sha256 }) => sha256.startsWith(begins));
  if (found !== undefined && more.length === 0) return found.sha256;
  const [ofEnv, option] = env === undefined ? ['', ''] : [` of ${env}`, ` --env ${env}`];
  throw new CtlError({
    exit: exits.failed,
    code: 'BUNDLE_NOT_FOUND',
    message: `${found === undefined ? 'no bundle' : 'more than one bundle'}${ofEnv} begins with ${begins}`,
    remedy: `\`deployctl bundle list${option} --json\` shows whole digests`,
  });
}

/** Adds signatures, at least one, to a bundle; returns the changed bundle. */
export async function addSignatures(api: Api, sha256: string, signatures: readonly object[]): Promise<Bundle> {
  const add = (json: object) =>
    api.call<Bundle>({ method: 'POST', path: path`/v1/bundles/${sha256}/signatures`, json });
  let bundle: Bundle | undefined;
  for (const signature of signatures) bundle = await add(signature);
  if (bundle === undefined) throw new TypeError('no signature to add');
  return bundle;
}
