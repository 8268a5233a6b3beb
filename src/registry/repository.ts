import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../protocol/loopback.ts';
import { printable } from '../protocol/printable.ts';
import type { ImageReference } from '../platform/text/imageReference.ts';
import { parseChallenge } from './challenge.ts';
import { RegistryError } from './registryError.ts';

/** A login of a registry. */
export interface Login {
  user: string;
  password: string;
}

/** An answer of a registry, with any status. */
export interface RegistryAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: Buffer;
}

/** How registries are reached: one GET, without redirects, with whatever status it is answered; throws `RegistryError`. */
export interface RegistryAccess {
  get: (url: URL, headers: Record<string, string>) => Promise<RegistryAnswer>;
  /** The login for a repository of a registry, by their names in image references. */
  loginOf: (registry: string, repository: string) => Login | null;
}

/** A repository of a registry. */
export interface Repository {
  /** Name of the registry. */
  registry: string;
  /**
   * GETs a path below the repository (`manifests/1`), authorized as the registry asks for, through at most three redirects. The
   * login goes to the registry and the token service that it names, the token to the registry alone. Throws `RegistryError`; a
   * status is not judged.
   */
  get: (path: string, accept: string) => Promise<RegistryAnswer>;
}

/** Opens the repository of an image; nothing is asked yet. */
export function openRepository(image: ImageReference, access: RegistryAccess): Repository {
  const { registry } = image;
  let authorization: string | null = null;
  const send = async (url: URL, accept: string): Promise<RegistryAnswer> => {
    const open = await access.get(url, { accept, ...(authorization !== null && { authorization }) });
    if (open.status !== 401) return open;
    authorization = await authorizationFor(open.headers, image, access);
    return access.get(url, { accept, authorization });
  };
  return {
    registry,
    get: async (path, accept) => {
      const url = urlBelow(image, path);
      let answer = await send(url, accept);
      let from = url;
      for (let hop = 0; redirects.has(answer.status); hop++) {
        if (hop === maxRedirects) throw new RegistryError(`${registry} redirects more than ${maxRedirects} times`);
        from = redirectTarget(answer.headers.location, from, registry);
        answer = from.origin === url.origin ? await send(from, accept) : await access.get(from, { accept });
      }
      return answer;
    },
  };
}

/** The body of an answer; null for what the repository has not. Throws `RegistryError` for any other status than 200 and 404. */
export function bodyOf({ status, body }: RegistryAnswer, { registry }: Repository): Buffer | null {
  if (status === 404) return null;
  if (status !== 200) throw new RegistryError(`${registry} answers ${status}`);
  return body;
}

const redirects = new Set([301, 302, 303, 307, 308]);
const maxRedirects = 3;

/** Docker's registry has another host than its name; one on this host is reached without encryption, as engines do. */
function urlBelow({ registry, repository }: ImageReference, path: string): URL {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  const address = `//${host}/v2/${repository}/${path}`;
  if (!URL.canParse(`https:${address}`)) throw new RegistryError(`${printable(registry)} is no registry`);
  const url = new URL(`https:${address}`);
  if (!url.pathname.startsWith(`/v2/${repository}/`))
    throw new RegistryError(`${printable(`${registry}/${repository}`)} is no image`);
  return isLoopback(url.hostname) ? new URL(`http:${address}`) : url;
}

function redirectTarget(location: string | undefined, from: URL, registry: string): URL {
  if (location !== undefined && URL.canParse(location, from.href)) {
    const target = new URL(location, from.href);
    if (target.username === '' && target.password === '' && isSafe(target, from)) return target;
  }
  throw new RegistryError(`${registry} redirects to where nobody should go`);
}

/** A registry on this host may redirect to another one here, without encryption as both are. */
function isSafe({ protocol, hostname }: URL, from: URL): boolean {
  return protocol === 'https:' || (protocol === from.protocol && isLoopback(hostname));
}

async function authorizationFor(
  headers: IncomingHttpHeaders,
  { registry, repository }: ImageReference,
  access: RegistryAccess,
): Promise<string> {
  const login = access.loginOf(registry, repository);
  const challenge = parseChallenge(headers['www-authenticate']);
  if (challenge === null) throw new RegistryError(`${registry} wants a login of an unknown kind`);
  const basic = login && `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`;
  if (challenge.scheme === 'bearer') {
    const { status, body } = await access.get(challenge.tokenUrl, basic === null ? {} : { authorization: basic });
    const { token, access_token: other } = parseToken(body);
    const found = token ?? other;
    if (status !== 200 || typeof found !== 'string') throw new RegistryError(`${registry} gives no token (${status})`);
    return `Bearer ${found}`;
  }
  if (basic === null) throw new RegistryError(`${registry} wants a login, and there is none for it`);
  return basic;
}

function parseToken(body: Buffer): { token?: unknown; access_token?: unknown } {
  try {
    return Object(JSON.parse(body.toString('utf8'))) as { token?: unknown };
  } catch {
    return {};
  }
}
