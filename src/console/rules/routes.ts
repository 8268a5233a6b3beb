/** Where the pages of the console begin. */
export const base = '/console/';

/** Path of each page below the base; `:name` stands for a part that the page is about. */
const patterns = {
  fleet: '',
  envs: 'envs',
  env: 'envs/:env',
  secrets: 'envs/:env/secrets',
  diff: 'envs/:env/diff',
  backend: 'backends/:id',
  kit: 'backends/:id/kit',
  retire: 'backends/:id/retire',
  audit: 'audit',
  people: 'people',
} as const;

export type PageName = keyof typeof patterns;

/** A page, and what it is about. */
export interface Route {
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
