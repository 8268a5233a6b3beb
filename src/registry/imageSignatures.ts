import { signatureLimits } from '../api/trust.rules.ts';
import { printable } from '../core/text.rules.ts';
import { imagePredicateType, type ImageSignature } from '../signatures/formats.ts';
import { bodyOf, digestOf, type Repository } from './repository.ts';

/** The signatures that a registry has of an image, not verified, and why some of them cannot be read. */
interface FoundSignatures {
  signatures: ImageSignature[];
  faults: string[];
}

/**
 * Finds the signatures of the image with this digest in its repository. First come the signatures of cosign 2, under a
 * separate tag, then the signatures of cosign 3, which refer to the image. Of either kind at most 64 are looked at,
 * each of at most 64 KiB. Throws `RegistryError` when the registry cannot be asked.
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

/** The manifests that refer to an image, and why the list may be incomplete. */
interface Referrers {
  manifests: Descriptor[];
  faults: string[];
}

/**
 * The manifests in a repository that refer to this digest and may contain a Sigstore bundle. They come from the
 * referrers API or, if the registry has none, from the index under the fallback tag. Throws `RegistryError`.
 */
async function referrersOf(repository: Repository, digest: string): Promise<Referrers> {
  const { manifests, faults } = (await askApi(repository, digest)) ?? (await readFallbackTag(repository, digest));
  const isCandidate = ({ mediaType, artifactType }: Descriptor) =>
    mediaType === manifestType && isBundleType(artifactType);
  return { manifests: manifests.filter(isCandidate), faults };
}

const indexType = 'application/vnd.oci.image.index.v1+json';

/** Pages of the API that are read. */
const maxPages = 8;

/** Registries without the API answer one of these, or 200 with something else than an index. */
const withoutApi = [400, 404, 405, 406];

/** Null where the registry has no such API. */
async function askApi(repository: Repository, digest: string): Promise<Referrers | null> {
  const all: Descriptor[] = [];
  let query: string | null = '';
  for (let page = 0; query !== null && page < maxPages; page++) {
    const answer = await repository.get(`referrers/${digest}${query}`, indexType);
    if (withoutApi.includes(answer.status)) return null;
    const body = bodyOf(answer, repository);
    if (body === null || answer.headers['content-type']?.startsWith(indexType) !== true) return null;
    all.push(...manifestsIn(body));
    query = nextPage(answer.headers.link);
  }
  const faults = query === null ? [] : [`only the first ${maxPages} pages of referrers of the image were read`];
  return { manifests: all, faults };
}

async function readFallbackTag(repository: Repository, digest: string): Promise<Referrers> {
  const body = bodyOf(await repository.get(`manifests/${digest.replace(':', '-')}`, indexType), repository);
  return { manifests: body === null ? [] : manifestsIn(body), faults: [] };
}

function manifestsIn(body: Buffer): Descriptor[] {
  return parseManifest(body)?.manifests ?? [];
}

/** cosign 3 names the type of an empty configuration in the fallback index, and others leave the type out. */
function isBundleType(artifactType: string): boolean {
  return /^(|application\/vnd\.oci\.empty\.v1\+json|application\/vnd\.dev\.sigstore\.bundle.*)$/.test(artifactType);
}

/** The query of the next page, which is of the same path; null on the last one. */
function nextPage(link: string | string[] | undefined): string | null {
  const [, query] = /^<[^>?]*(\?[^>]*)>; ?rel="?next"?$/.exec(String(link)) ?? [];
  return query ?? null;
}

/** The description of bytes in a manifest (an OCI descriptor), with the fields that are read. */
interface Descriptor {
  mediaType: string;
  digest: string;
  /** In bytes. */
  size: number;
  /** Empty if there is none. */
  artifactType: string;
  annotations: Readonly<Record<string, unknown>>;
}

/** A manifest or an index, with the fields that are read; a missing list is empty. */
interface ManifestContent {
  annotations: Readonly<Record<string, unknown>>;
  layers: Descriptor[];
  manifests: Descriptor[];
}

/** Parses a manifest or an index; what it names in another way than by a digest is left out. Null if it is not one. */
export function parseManifest(body: Buffer): ManifestContent | null {
  const { schemaVersion, annotations, layers, manifests } = objectOf(parseJson(body));
  if (schemaVersion !== 2) return null;
  return { annotations: objectOf(annotations), layers: descriptorsIn(layers), manifests: descriptorsIn(manifests) };
}

/** Why bytes do not match a descriptor; null if they match. */
export function contentFault({ digest, size }: Descriptor, body: Buffer): string | null {
  if (body.length === size && digestOf(body) === digest) return null;
  return `the registry returns bytes that do not match ${printable(digest)}`;
}

function parseJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return null;
  }
}

function descriptorsIn(value: unknown): Descriptor[] {
  return (Array.isArray(value) ? value : []).flatMap((each) => descriptorOf(objectOf(each)) ?? []);
}

function descriptorOf(fields: Readonly<Record<string, unknown>>): Descriptor | null {
  const { mediaType, digest, size, artifactType, annotations } = fields;
  if (typeof mediaType !== 'string' || typeof digest !== 'string' || typeof size !== 'number') return null;
  if (!/^sha256:[0-9a-f]{64}$/.test(digest)) return null;
  const type = typeof artifactType === 'string' ? artifactType : '';
  return { mediaType, digest, size, artifactType: type, annotations: objectOf(annotations) };
}

function objectOf(value: unknown): Readonly<Record<string, unknown>> {
  return Array.isArray(value) ? {} : (Object(value) as Record<string, unknown>);
}
