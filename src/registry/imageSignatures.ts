import { signatureLimits } from '../api/trust.rules.ts';
import { printable } from '../core/text.rules.ts';
import { imagePredicateType, type ImageSignature } from '../signatures/formats.ts';
import { bodyOf, digestOf, RegistryError, type Repository } from './repository.ts';

/** The signatures that a registry has of an image, not verified, and what is known of the others. */
export interface FoundSignatures {
  signatures: ImageSignature[];
  /** Why some of them cannot be used. */
  faults: string[];
  /** Answers that do not say whether there is a signature. */
  unanswered: string[];
  /** The same of 403 for a tag: some registries answer so for a missing tag. */
  forbidden: string[];
}

/**
 * Finds the signatures of the image with this digest in its repository. Both places are read side by side: cosign 2 stores
 * signatures under a separate tag, and the signatures of cosign 3 refer to the image. Of each kind at most 64 are
 * read, each of at most 64 KiB. Returns as soon as `isEnough` accepts the signatures of one place, whatever the other
 * answers. Throws only what is not a `RegistryError`.
 */
export async function findSignatures(
  repository: Repository,
  digest: string,
  isEnough: (signatures: ImageSignature[]) => boolean = () => false,
): Promise<FoundSignatures> {
  const places = [nothingFound(), nothingFound()] as const;
  const [tag, referrers] = places;
  const reads = [readSimpleSignatures(repository, digest, tag), readReferrers(repository, digest, referrers)];
  await oneOrAll(reads.map((read) => read.then(() => isEnough(mergePlaces(places).signatures))));
  return mergePlaces(places);
}

/** Waits for the first of them that is true, or for all. */
async function oneOrAll(all: Promise<boolean>[]): Promise<void> {
  const one = new Promise<void>((resolve, reject) => {
    for (const each of all) each.then((is) => is && resolve(), reject);
  });
  await Promise.race([one, Promise.all(all)]);
}

function nothingFound(): FoundSignatures {
  return { signatures: [], faults: [], unanswered: [], forbidden: [] };
}

function mergePlaces(places: readonly FoundSignatures[]): FoundSignatures {
  return {
    signatures: places.flatMap(({ signatures }) => signatures),
    faults: places.flatMap(({ faults }) => faults),
    unanswered: places.flatMap(({ unanswered }) => unanswered),
    forbidden: places.flatMap(({ forbidden }) => forbidden),
  };
}

const manifestType = 'application/vnd.oci.image.manifest.v1+json';
const simpleSigningType = 'application/vnd.dev.cosign.simplesigning.v1+json';
const bundleType = 'application/vnd.dev.sigstore.bundle';

/** Blobs and manifests of one place that are requested side by side. */
const atOnce = 16;

async function readSimpleSignatures(repository: Repository, digest: string, place: FoundSignatures): Promise<void> {
  const tag = `${digest.replace(':', '-')}.sig`;
  const body = await ask(place, () => readTag(repository, tag, { type: manifestType, place }));
  const { layers = [] } = (body && parseManifest(body)) ?? {};
  const signatures = layers.filter(({ mediaType }) => mediaType === simpleSigningType);
  await inBatches(signatures.slice(0, signatureLimits.count), async (batch) => {
    const read = batch.map((layer) => ask(place, () => contentOf(`blobs/${layer.digest}`, layer, repository)));
    for (const [index, payload] of (await Promise.all(read)).entries())
      addRead(place, typeof payload === 'string' ? payload : payload && simpleSignature(payload, batch[index]));
    return true;
  });
  if (signatures.length > signatureLimits.count) place.faults.push(tooMany);
}

function simpleSignature(payload: Buffer, layer: Descriptor | undefined): ImageSignature {
  return { payload, annotations: layer?.annotations ?? {} };
}

const tooMany = `there are more than ${signatureLimits.count} signatures, and only the first ${signatureLimits.count} are read`;

/** Most manifests that refer to an image and are read; attestations refer to it too. */
const maxReferrers = 512;

async function readReferrers(repository: Repository, digest: string, place: FoundSignatures): Promise<void> {
  const all = (await listReferrers(repository, digest, place)).filter(mayBeSignature);
  if (all.length > maxReferrers)
    place.faults.push(`${all.length} manifests refer to the image, and only the first ${maxReferrers} are read`);
  let count = 0;
  await inBatches(all.slice(0, maxReferrers), async (batch) => {
    const read = batch.map((referrer) => ask(place, () => bundleOf(referrer, repository)));
    for (const bundle of await Promise.all(read)) {
      if (bundle === null) continue;
      if (count === signatureLimits.count) {
        place.faults.push(tooMany);
        return false;
      }
      count += 1;
      addRead(place, Buffer.isBuffer(bundle) ? { bundle } : bundle);
    }
    return true;
  });
}

async function inBatches(all: Descriptor[], use: (batch: Descriptor[]) => Promise<boolean>): Promise<void> {
  for (let at = 0; at < all.length; at += atOnce) if (!(await use(all.slice(at, at + atOnce)))) return;
}

function addRead({ signatures, faults }: FoundSignatures, read: ImageSignature | string | null): void {
  if (typeof read === 'string') faults.push(read);
  else if (read !== null) signatures.push(read);
}

/** An answer of a registry; null, and a note in the place, if the registry cannot be asked. */
async function ask<T>(place: FoundSignatures, request: () => Promise<T>): Promise<T | null> {
  try {
    return await request();
  } catch (error) {
    if (!(error instanceof RegistryError)) throw error;
    place.unanswered.push(error.message);
    return null;
  }
}

/** The manifest under a tag; null if there is none, or if the registry forbids to read it. Throws `RegistryError`. */
async function readTag(
  repository: Repository,
  tag: string,
  { type, place }: { type: string; place: FoundSignatures },
): Promise<Buffer | null> {
  const answer = await repository.get(`manifests/${tag}`, type);
  if (answer.status !== 403) return bodyOf(answer);
  place.forbidden.push(`${answer.host} answers 403 for the tag ${tag}`);
  return null;
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
  if (bundle === undefined || !isAboutImage(annotations)) return null;
  return contentOf(`blobs/${bundle.digest}`, bundle, repository);
}

/** False for an attestation; cosign names the type of the statement in an annotation. */
function isAboutImage(annotations: Descriptor['annotations']): boolean {
  return (annotations['dev.sigstore.bundle.predicateType'] ?? imagePredicateType) === imagePredicateType;
}

/** The bytes of a descriptor; a text says why they cannot be used. */
async function contentOf(path: string, descriptor: Descriptor, repository: Repository): Promise<Buffer | string> {
  const { digest, size } = descriptor;
  if (size > signatureLimits.bytes) return `${digest} has more than ${signatureLimits.bytes} bytes`;
  const body = bodyOf(await repository.get(path, manifestType));
  return body === null ? `${digest} is missing` : (contentFault(descriptor, body) ?? body);
}

/**
 * The manifests in a repository that refer to this digest. They come from the referrers API or, if the registry has none
 * or does not answer there, from the index under the fallback tag.
 */
async function listReferrers(repository: Repository, digest: string, place: FoundSignatures): Promise<Descriptor[]> {
  const all: Descriptor[] = [];
  if ((await ask(place, () => askApi(repository, digest, { all, place }))) === true) return all;
  const tag = digest.replace(':', '-');
  const body = await ask(place, () => readTag(repository, tag, { type: indexType, place }));
  return [...all, ...(body === null ? [] : manifestsIn(body))];
}

/** True unless the list itself says that it is something else; some registries leave the annotations out. */
function mayBeSignature({ mediaType, artifactType, annotations }: Descriptor): boolean {
  return mediaType === manifestType && isBundleType(artifactType) && isAboutImage(annotations);
}

const indexType = 'application/vnd.oci.image.index.v1+json';

/** Pages of the API that are read. */
const maxPages = 8;

/** Registries without the API answer one of these, or 200 with something else than an index. */
const withoutApi = [400, 404, 405, 406];

/** Adds the manifests that the API lists; false where the registry has no such API. Throws `RegistryError`. */
async function askApi(
  repository: Repository,
  digest: string,
  { all, place }: { all: Descriptor[]; place: FoundSignatures },
): Promise<boolean> {
  let query: string | null = '';
  for (let page = 0; query !== null && page < maxPages; page++) {
    const answer = await repository.get(`referrers/${digest}${query}`, indexType);
    if (withoutApi.includes(answer.status)) return false;
    const body = bodyOf(answer);
    if (body === null || answer.headers['content-type']?.startsWith(indexType) !== true) return false;
    all.push(...manifestsIn(body));
    query = nextPage(answer.headers.link);
  }
  if (query !== null) place.faults.push(`only the first ${maxPages} pages of referrers of the image were read`);
  return true;
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
