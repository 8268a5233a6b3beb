import type { BearerIdentity } from './bearerCache.ts';
import { agentRole, authMount, backendPrefix } from './secretstoreRoles.ts';

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
