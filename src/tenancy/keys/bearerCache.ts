import { hash } from 'node:crypto';
import { agentRole, authMount, backendPrefix } from './secretstoreRoles.rules.ts';

/** The owner of a bearer token, from the metadata in the secretstore. */
export interface BearerIdentity {
  backendId: string;
  env: string;
  generation: number;
  /** Identifies the token at the secretstore, for example to revoke it. */
  accessor: string;
}

/**
 * Looks up a bearer token at the secretstore; returns null if the secretstore does not know it. Throws if the
 * secretstore cannot be called. The address is the caller's.
 */
export type LookUpBearer = (bearer: string, address?: string) => Promise<BearerIdentity | null>;

/** Milliseconds for which an answer of the secretstore is cached. */
const KNOWN_MS = 60_000;
const REFUSED_MS = 5000;
/** Number of additions after which expired entries are removed. */
const SWEEP_AFTER = 10_000;

interface Entry {
  identity: Promise<BearerIdentity | null>;
  expiresAt: number;
}

/** Numbers of answers from the cache and of calls to the secretstore. */
export interface BearerCounts {
  hits: number;
  misses: number;
}

/**
 * Caches look-ups by the digest of the bearer token; the token itself is not stored. Concurrent requests with one token
 * share a look-up; failures are not cached. The clock counts milliseconds and never goes back.
 */
export function createBearerCache(
  lookUp: LookUpBearer,
  clock: () => number,
  counts: BearerCounts = { hits: 0, misses: 0 },
): LookUpBearer {
  const entries = new Map<string, Entry>();
  let added = 0;
  const sweep = (now: number) => {
    added = 0;
    for (const [digest, { expiresAt }] of entries) if (expiresAt <= now) entries.delete(digest);
  };
  const ask = async (digest: string, entry: Entry, ...[bearer, address]: Parameters<LookUpBearer>) => {
    try {
      const identity = await lookUp(bearer, address);
      entry.expiresAt = clock() + (identity === null ? REFUSED_MS : KNOWN_MS);
      return identity;
    } catch (error) {
      entries.delete(digest);
      throw error;
    }
  };
  return (bearer, address) => {
    const digest = hash('sha256', bearer, 'base64');
    const known = entries.get(digest);
    if (known !== undefined && clock() < known.expiresAt) {
      counts.hits++;
      return known.identity;
    }
    counts.misses++;
    if (++added > SWEEP_AFTER) sweep(clock());
    const entry: Entry = { identity: Promise.resolve(null), expiresAt: Infinity };
    entries.set(digest, entry);
    return (entry.identity = ask(digest, entry, bearer, address));
  };
}

/**
 * The owner of a token from its look-up; null for a token that was not issued by the agents' role of the expected
 * mount. A namespace below the expected one may have a mount of the same name, with separate keys.
 */
export function bearerIdentityOf(token: Record<string, unknown>, namespace: string | null): BearerIdentity | null {
  const { path, namespace_path: where = '', accessor, meta } = token;
  const ours = namespace === null ? '' : `${namespace.replace(/^\/+|\/+$/g, '')}/`;
  if (path !== `auth/${authMount}/login` || where !== ours) return null;
  const { role, backend, env, gen } = (meta ?? {}) as Record<string, unknown>;
  if (role !== agentRole.name || !isText(accessor) || !isText(env) || !isText(backend) || !isText(gen)) return null;
  if (!backend.startsWith(backendPrefix) || !/^\d{1,15}$/.test(gen)) return null;
  return { backendId: backend.slice(backendPrefix.length), env, generation: Number(gen), accessor };
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}
