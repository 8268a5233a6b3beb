import { isLoopback } from '../protocol/loopback.ts';

/** How a registry wants a request to be authorized (its `WWW-Authenticate`). */
export type Challenge = { scheme: 'basic' } | { scheme: 'bearer'; tokenUrl: URL };

/** Parses the challenge of a 401; null for one of another kind, or whose tokens would be asked for without encryption. */
export function parseChallenge(header: string | undefined): Challenge | null {
  const [, scheme = '', parameters = ''] = /^(\w+)(?:\s+(.*))?$/s.exec(header ?? '') ?? [];
  if (scheme.toLowerCase() === 'basic') return { scheme: 'basic' };
  if (scheme.toLowerCase() !== 'bearer') return null;
  const named = new Map([...parameters.matchAll(/(\w+)="([^"]*)"/g)].map(([, name = '', value = '']) => [name, value]));
  const realm = named.get('realm') ?? '';
  if (!URL.canParse(realm)) return null;
  const tokenUrl = new URL(realm);
  if (tokenUrl.protocol !== 'https:' && !(tokenUrl.protocol === 'http:' && isLoopback(tokenUrl.hostname))) return null;
  for (const name of ['service', 'scope']) {
    const value = named.get(name);
    if (value !== undefined) tokenUrl.searchParams.set(name, value);
  }
  return { scheme: 'bearer', tokenUrl };
}
