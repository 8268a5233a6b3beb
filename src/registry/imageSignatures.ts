import { signatureLimits } from '../protocol/signatureLimits.ts';
import { imagePredicateType, type ImageSignature } from '../signatures/formats.ts';
import { contentFault, type Descriptor, parseManifest } from './content.ts';
import { referrersOf } from './referrers.ts';
import { bodyOf, type Repository } from './repository.ts';

/** The signatures that a registry has of an image, not verified, and why some of them cannot be read. */
export interface FoundSignatures {
  signatures: ImageSignature[];
  faults: string[];
}

/**
 * Finds the signatures of the image with this digest in its repository: those of cosign 2, under a tag of their own, then those of
 * cosign 3, which refer to the image. Of either kind at most 64 are looked at, each of at most 64 KiB. Throws `RegistryError` when
 * the registry cannot be asked.
 */
export async function findSignatures(repository: Repository, digest: string): Promise<FoundSignatures> {
  const found: FoundSignatures = { signatures: [], faults: [] };
  for (const layer of withinLimit(await simpleSignatures(repository, digest), found)) {
    const payload = await contentOf(`blobs/${layer.digest}`, layer, repository);
    if (typeof payload === 'string') found.faults.push(payload);
    else found.signatures.push({ payload, annotations: layer.annotations });
  }
  const { manifests, faults } = await referrersOf(repository, digest);
  found.faults.push(...faults);
  for (const referrer of withinLimit(manifests, found)) {
    const bundle = await bundleOf(referrer, repository);
    if (typeof bundle === 'string') found.faults.push(bundle);
    else if (bundle !== null) found.signatures.push({ bundle });
  }
  return found;
}

const manifestType = 'application/vnd.oci.image.manifest.v1+json';
const simpleSigningType = 'application/vnd.dev.cosign.simplesigning.v1+json';
const bundleType = 'application/vnd.dev.sigstore.bundle';

async function simpleSignatures(repository: Repository, digest: string): Promise<Descriptor[]> {
  const tag = `${digest.replace(':', '-')}.sig`;
  const body = bodyOf(await repository.get(`manifests/${tag}`, manifestType), repository);
  const { layers = [] } = (body && parseManifest(body)) ?? {};
  return layers.filter(({ mediaType }) => mediaType === simpleSigningType);
}

/**
 * The Sigstore bundle of a referrer; null for one with another statement than one about the image, as an attestation of its
 * origin. A text says why it cannot be read.
 */
async function bundleOf(referrer: Descriptor, repository: Repository): Promise<Buffer | string | null> {
  const manifest = await contentOf(`manifests/${referrer.digest}`, referrer, repository);
  if (typeof manifest === 'string') return manifest;
  const { annotations = {}, layers = [] } = parseManifest(manifest) ?? {};
  const bundle = layers.find(({ mediaType }) => mediaType.startsWith(bundleType));
  const predicateType = annotations['dev.sigstore.bundle.predicateType'] ?? imagePredicateType;
  if (bundle === undefined || predicateType !== imagePredicateType) return null;
  return contentOf(`blobs/${bundle.digest}`, bundle, repository);
}

function withinLimit(all: Descriptor[], { faults }: FoundSignatures): Descriptor[] {
  if (all.length > signatureLimits.count)
    faults.push(
      `there are ${all.length} signatures, and no more than the first ${signatureLimits.count} are looked at`,
    );
  return all.slice(0, signatureLimits.count);
}

/** The bytes of a descriptor; a text says why they cannot be used. */
async function contentOf(path: string, descriptor: Descriptor, repository: Repository): Promise<Buffer | string> {
  const { digest, size } = descriptor;
  if (size > signatureLimits.bytes) return `${digest} has more than ${signatureLimits.bytes} bytes`;
  const body = bodyOf(await repository.get(path, manifestType), repository);
  return body === null ? `${digest} is missing` : (contentFault(descriptor, body) ?? body);
}
