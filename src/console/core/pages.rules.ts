import type { Caller, Role } from '../api/types.ts';

/** Where the pages of the console begin. */
export const base = '/console/';

/** Path of each page below the base; `:name` stands for a part that the page is about. */
const patterns = {
  fleet: '',
  envs: 'envs',
  env: 'envs/:env',
  secrets: 'envs/:env/secrets',
  diff: 'envs/:env/diff',
  rollout: 'envs/:env/rollouts/:id',
  backend: 'backends/:id',
  kit: 'backends/:id/kit',
  retire: 'backends/:id/retire',
  audit: 'audit',
  people: 'people',
  restore: 'restore',
} as const;

export type PageName = keyof typeof patterns;

/** A page, and what it is about. */
interface Route {
  page: PageName;
  params: Record<string, string>;
}

/** The page of a path; null if there is none. */
export function routeOf(pathname: string): Route | null {
  for (const [page, pattern] of Object.entries(patterns) as [PageName, string][]) {
    const params = matchPath(base + pattern, pathname);
    if (params !== null) return { page, params };
  }
  return null;
}

/** The address of a page. */
export function hrefOf(page: PageName, params: Record<string, string> = {}): string {
  return base + patterns[page].replace(/:(\w+)/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
}

function matchPath(pattern: string, pathname: string): Record<string, string> | null {
  const [wanted, given] = [pattern.split('/'), pathname.split('/')];
  if (wanted.length !== given.length) return null;
  const params: Record<string, string> = {};
  for (const [index, part] of wanted.entries()) {
    const value = decode(given[index] ?? '');
    if (part.startsWith(':') && value) params[part.slice(1)] = value;
    else if (part !== value) return null;
  }
  return params;
}

function decode(part: string): string | null {
  try {
    return decodeURIComponent(part);
  } catch {
    return null;
  }
}

/** The filters of backends, the same in the address of the page and in the API. */
export const filters = ['q', 'env', 'state', 'behind', 'sick', 'cloned', 'deferred_by', 'differs', 'swarm'] as const;

/** Hosts on a page of the list. */
const pageSize = 60;

/** The query to the API for the address of a page: the known filters, sorted by name if the address has no order. */
export function listQueryOf(query: URLSearchParams): URLSearchParams {
  const own = { sort: sortOf(query), limit: String(pageSize) };
  const known = [...Object.entries(own), ...[...filters, 'after'].map((name) => [name, query.get(name) ?? ''])];
  return new URLSearchParams(known.filter(([, value]) => value !== ''));
}

function sortOf(query: URLSearchParams): string {
  return query.get('sort') ?? 'host_name';
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

const roles: readonly Role[] = ['viewer', 'deployer', 'admin'];

/** Whether a caller has a role in an env; in all of them for null. The service decides again at each call. */
export function may({ permissions }: Pick<Caller, 'permissions'>, role: Role, env: string | null): boolean {
  return permissions.some(
    (each) =>
      roles.indexOf(each.role) >= roles.indexOf(role) &&
      (each.envs === null || (env !== null && each.envs.includes(env))),
  );
}

/** The remedy for an error, by its code; nothing if the message is enough. */
const byCode: Record<string, string> = {
  ALREADY_DESIRED: 'The environment runs this bundle already. Choose another one.',
  BACKEND_LEADS: 'Demote its node first, so that another manager acts, or retire all managers of its swarm.',
  BACKEND_OFFLINE: 'Its host does not answer. Force it, and the host is taken down if it comes back within a day.',
  BUNDLE_DAMAGED: 'Push its archive again, or a newer bundle: deployctl push.',
  BUNDLE_MISSING: 'Push its archive again, or a newer bundle: deployctl push.',
  ENV_IN_USE: 'Retire its backends first.',
  ROLLOUT_ACTIVE: 'Wait for the rollout of this environment, or abort it.',
  ROLLOUT_STATE: 'The rollout has gone on in the meantime. Look at it again.',
  DESIRED_DIFFERS: 'Something has changed in the meantime. Look at it again.',
  SIGNATURE_AWAITED: 'Have the bundle signed: deployctl bundle sign.',
  CROSS_SITE_REFUSED: 'Open the console by its own address, and try again.',
  UNANSWERED: 'The change may have been made: reload the page and check before you try again.',
  UNREACHABLE: 'Check the network. The page retries automatically.',
};

const byStatus: Record<number, string> = {
  401: 'Sign in again; you come back to this page.',
  403: 'This needs another role. The page People shows your role.',
  404: 'It may have been removed, or it is in an environment that you may not see.',
  429: 'Wait a minute, and try again.',
  503: 'The service is busy or cannot reach a peer. Try again in a moment.',
};

/** The remedy for an error of the API; null if its message is enough. */
export function adviceFor({ code, status }: { code: string; status: number }): string | null {
  return byCode[code] ?? byStatus[status] ?? null;
}
