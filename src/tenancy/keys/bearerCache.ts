import { hash } from 'node:crypto';
import { agentRole, authMount, backendPrefix } from './secretstoreRoles.rules.ts';

/** Whose token a bearer is, by the metadata that the secretstore keeps of it. */
export interface BearerIdentity {
  backendId: string;
  env: string;
  generation: number;
  /** Names the token at the secretstore, where it can be revoked by it. */
  accessor: string;
}

/** Looks a bearer up at the secretstore; null if the secretstore does not know it. Throws if it cannot be asked. */
export type LookUpBearer = (bearer: string) => Promise<BearerIdentity | null>;

/** Milliseconds for which an answer of the secretstore is believed. */
const KNOWN_MS = 60_000;
const REFUSED_MS = 5000;
/** Expired entries are removed when so many have been added. */
const SWEEP_AFTER = 10_000;

interface Entry {
  identity: Promise<BearerIdentity | null>;
  expiresAt: number;
}

/** How often the cache knew a bearer, and how often the secretstore was asked. */
export interface BearerCounts {
  hits: number;
  misses: number;
}

/**
 * Keeps the answers to look-ups, by the digest of the bearer, which itself is not kept. Requests with one bearer at the
 * same time share one look-up; a look-up that fails is not kept. The clock counts milliseconds and never goes back.
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
  const ask = async (digest: string, bearer: string, entry: Entry) => {
    try {
      const identity = await lookUp(bearer);
      entry.expiresAt = clock() + (identity === null ? REFUSED_MS : KNOWN_MS);
      return identity;
    } catch (error) {
      entries.delete(digest);
      throw error;
    }
  };
  return (bearer) => {
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
    return (entry.identity = ask(digest, bearer, entry));
  };
}

/**
 * Whose token it is, by the answer to its lookup; null for any token that the agents' role of our own mount has not
 * issued. A namespace below ours may have a mount of the same name, with keys of its own.
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
