import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { isLoopback } from '../protocol/loopback.ts';
import { printable } from '../protocol/printable.ts';
import { parseImageReference, type ImageReference } from '../platform/text/imageReference.ts';
import { parseChallenge } from './challenge.ts';
import { RegistryError } from './registryError.ts';

/** A login of a registry. */
export interface Login {
  user: string;
  password: string;
}

/** How registries are reached: one GET, with whatever status it is answered. */
export interface RegistryAccess {
  get: (
    url: URL,
    headers: Record<string, string>,
  ) => Promise<{ status: number; headers: IncomingHttpHeaders; body: Buffer }>;
  /** The login for a registry, by its name in image references. */
  loginOf: (registry: string) => Login | null;
}

/**
 * The digest (`sha256:…`) that an image reference has in its registry now, computed of the manifest that the registry gives; one
 * that names a digest has that. Throws `RegistryError`.
 */
export async function imageDigest(reference: string, access: RegistryAccess): Promise<string> {
  const image = parseImageReference(reference);
  if (image.digest !== null) return image.digest;
  const url = manifestUrl(image);
  const open = await access.get(url, { accept });
  const answer = open.status === 401 ? await getAuthorized(url, open.headers, { image, access }) : open;
  if (answer.status !== 200) throw new RegistryError(`${image.registry} answers ${answer.status}`);
  const digest = `sha256:${createHash('sha256').update(answer.body).digest('hex')}`;
  const told = answer.headers['docker-content-digest'];
  if (told !== undefined && told !== digest)
    throw new RegistryError(`${image.registry} gives other bytes than it says (${printable(String(told))})`);
  return digest;
}

/** Manifests and lists of them, for several architectures, as engines ask for them. */
const accept = [
  'application/vnd.oci.image.index.v1+json',
  'application/vnd.docker.distribution.manifest.list.v2+json',
  'application/vnd.oci.image.manifest.v1+json',
  'application/vnd.docker.distribution.manifest.v2+json',
].join(', ');

/** Docker's registry has another host than its name; one on this host is reached without encryption, as engines do. */
function manifestUrl({ registry, repository, tag }: ImageReference): URL {
  const host = registry === 'docker.io' ? 'registry-1.docker.io' : registry;
  const address = `//${host}/v2/${repository}/manifests/${tag ?? 'latest'}`;
  if (!URL.canParse(`https:${address}`)) throw new RegistryError(`${printable(registry)} is no registry`);
  const url = new URL(`https:${address}`);
  return isLoopback(url.hostname) ? new URL(`http:${address}`) : url;
}

async function getAuthorized(
  url: URL,
  headers: IncomingHttpHeaders,
  { image: { registry }, access }: { image: ImageReference; access: RegistryAccess },
): ReturnType<RegistryAccess['get']> {
  const login = access.loginOf(registry);
  const challenge = parseChallenge(headers['www-authenticate']);
  if (challenge === null) throw new RegistryError(`${registry} wants a login of an unknown kind`);
  const basic = login && `Basic ${Buffer.from(`${login.user}:${login.password}`).toString('base64')}`;
  if (challenge.scheme === 'bearer') {
    const authorization = `Bearer ${await tokenOf(challenge.tokenUrl, basic, { registry, access })}`;
    return access.get(url, { accept, authorization });
  }
  if (basic === null) throw new RegistryError(`${registry} wants a login, and there is none for it`);
  return access.get(url, { accept, authorization: basic });
}

async function tokenOf(
  url: URL,
  basic: string | null,
  { registry, access }: { registry: string; access: RegistryAccess },
): Promise<string> {
  const { status, body } = await access.get(url, basic === null ? {} : { authorization: basic });
  const { token, access_token: other } = parseToken(body);
  const found = token ?? other;
  if (status !== 200 || typeof found !== 'string') throw new RegistryError(`${registry} gives no token (${status})`);
  return found;
}

function parseToken(body: Buffer): { token?: unknown; access_token?: unknown } {
  try {
    return Object(JSON.parse(body.toString('utf8'))) as { token?: unknown };
  } catch {
    return {};
  }
}
