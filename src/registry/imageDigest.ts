import { createHash } from 'node:crypto';
import { printable } from '../protocol/printable.ts';
import { parseImageReference } from '../platform/text/imageReference.ts';
import { RegistryError } from './registryError.ts';
import { openRepository, type RegistryAccess, type Repository } from './repository.ts';

/**
 * The digest (`sha256:…`) that an image reference has in its registry now, computed of the manifest that the registry gives; one
 * that names a digest has that. An image for several architectures has the digest of their index. Throws `RegistryError`.
 */
export async function imageDigest(reference: string, access: RegistryAccess): Promise<string> {
  const image = parseImageReference(reference);
  if (image.digest !== null) return image.digest;
  return digestOfTag(openRepository(image, access), image.tag ?? 'latest');
}

/** The same for a tag of a repository. */
export async function digestOfTag({ registry, get }: Repository, tag: string): Promise<string> {
  const answer = await get(`manifests/${tag}`, manifestTypes.join(', '));
  if (answer.status !== 200) throw new RegistryError(`${registry} answers ${answer.status}`);
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
