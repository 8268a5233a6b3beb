import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../core/http.rules.ts';
import { printable } from '../core/text.rules.ts';
import { type ImageReference, parseImageReference } from './imageReference.rules.ts';

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

/** An answer with the host that gave it, which is another one after a redirect. */
export type RepositoryAnswer = RegistryAnswer & { host: string };

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
   * GETs a path below the repository (`manifests/1`), authorized as the registry asks for, through at most three
   * redirects. The login goes to the registry and the token service that it names, the token to the registry alone.
   * Throws `RegistryError`; the caller checks the status.
   */
  get: (path: string, accept: string) => Promise<RepositoryAnswer>;
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
      return {
        ...answer,
        host: from.origin === url.origin ? registry : `${from.host}, to which ${registry} redirects,`,
      };
    },
  };
}

/**
 * The body of an answer; null if the repository does not have it. Throws `RegistryError` for any other status than 200
 * and 404.
 */
export function bodyOf({ status, body, host }: RepositoryAnswer): Buffer | null {
  if (status === 404) return null;
  if (status !== 200) throw new RegistryError(`${host} answers ${status}`);
  return body;
}

const redirects = new Set([301, 302, 303, 307, 308]);
const maxRedirects = 3;

/** Docker's registry has another host than its name; one on this host is reached without encryption, as engines do. */
function urlBelow({ registry, repository }: ImageReference, path: string): URL {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  const address = `//${host}/v2/${repository}/${path}`;
  if (!URL.canParse(`https:${address}`)) throw new RegistryError(`${printable(registry)} is not a registry`);
  const url = new URL(`https:${address}`);
  if (!url.pathname.startsWith(`/v2/${repository}/`))
    throw new RegistryError(`${printable(`${registry}/${repository}`)} is not an image`);
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

/** Only a registry on this host may name a token service here, which is reached without encryption. */
async function authorizationFor(
  headers: IncomingHttpHeaders,
  image: ImageReference,
  access: RegistryAccess,
): Promise<string> {
  const { registry, repository } = image;
  const login = access.loginOf(registry, repository);
  const challenge = parseChallenge(headers['www-authenticate']);
  const isOpen = challenge?.scheme === 'bearer' && challenge.tokenUrl.protocol === 'http:';
  if (challenge === null || (isOpen && urlBelow(image, '').protocol === 'https:'))
    throw new RegistryError(`${registry} requires an unknown kind of login`);
  const basic = login && `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`;
  if (challenge.scheme === 'bearer') {
    const { status, body } = await access.get(challenge.tokenUrl, basic === null ? {} : { authorization: basic });
    const { token, access_token: other } = parseToken(body);
    const found = token ?? other;
    if (status !== 200 || typeof found !== 'string') throw new RegistryError(`${registry} gives no token (${status})`);
    return `Bearer ${found}`;
  }
  if (basic === null) throw new RegistryError(`${registry} requires a login, and none is configured for it`);
  return basic;
}

function parseToken(body: Buffer): { token?: unknown; access_token?: unknown } {
  try {
    return Object(JSON.parse(body.toString('utf8'))) as { token?: unknown };
  } catch {
    return {};
  }
}

/** The authorization that a registry requires for a request (its `WWW-Authenticate`). */
type Challenge = { scheme: 'basic' } | { scheme: 'bearer'; tokenUrl: URL };

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

/** Why a registry did not return the digest of an image; the message is printable and contains no login. */
export class RegistryError extends Error {
  override readonly name = 'RegistryError';
}

/**
 * The digest (`sha256:…`) that an image reference has in its registry now, computed of the manifest that the registry
 * gives; one that names a digest has that. An image for several architectures has the digest of their index. Throws
 * `RegistryError`.
 */
export async function imageDigest(reference: string, access: RegistryAccess): Promise<string> {
  const image = parseImageReference(reference);
  if (image.digest !== null) return image.digest;
  return digestOfTag(openRepository(image, access), image.tag ?? 'latest');
}

/** The same for a tag of a repository. */
export async function digestOfTag({ registry, get }: Repository, tag: string): Promise<string> {
  const answer = await get(`manifests/${tag}`, manifestTypes.join(', '));
  if (answer.status !== 200) throw new RegistryError(`${answer.host} answers ${answer.status}`);
  const digest = digestOf(answer.body);
  const told = answer.headers['docker-content-digest'];
  if (told !== undefined && told !== digest)
    throw new RegistryError(`${registry} gives other bytes than it says (${printable(String(told))})`);
  return digest;
}

/** The digest of bytes, as registries name it: `sha256:` and hex. */
export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash('sha256').update(bytes).digest('hex')}`;
}

/** Manifests and lists of them, for several architectures, as engines ask for them. */
const manifestTypes = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
];

/** An image with its digest, or why no registry returns it. */
type Pin = { reference: string } | { fault: string };

/** Asks registries for the digest of each service's image, once for each image; pinned images are not changed. */
export async function pinImages(
  images: ReadonlyMap<string, string>,
  access: RegistryAccess,
): Promise<Map<string, Pin>> {
  const open = [...images].filter(([, image]) => parseImageReference(image).digest === null);
  const references = [...new Set(open.map(([, image]) => image))];
  const pins = new Map<string, Pin>();
  for (const reference of references) pins.set(reference, await pinOf(reference, access));
  return new Map(open.flatMap(([name, image]) => (pins.has(image) ? [[name, pins.get(image) as Pin] as const] : [])));
}

async function pinOf(reference: string, access: RegistryAccess): Promise<Pin> {
  try {
    return { reference: `${reference}@${await imageDigest(reference, access)}` };
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    return { fault: error.message };
  }
}
