import { parseManifest, type Descriptor } from './content.ts';
import { bodyOf, type Repository } from './repository.ts';

/** What refers to an image, and why that may not be all. */
export interface Referrers {
  manifests: Descriptor[];
  faults: string[];
}

/**
 * The manifests in a repository that refer to this digest and may hold a Sigstore bundle: as the referrers API tells them or, where
 * a registry has none, as they stand in the index under the fallback tag. Throws `RegistryError`.
 */
export async function referrersOf(repository: Repository, digest: string): Promise<Referrers> {
  const { manifests, faults } = (await askApi(repository, digest)) ?? (await readFallbackTag(repository, digest));
  const isCandidate = ({ mediaType, artifactType }: Descriptor) =>
    mediaType === manifestType && isBundleType(artifactType);
  return { manifests: manifests.filter(isCandidate), faults };
}

const indexType = 'application/vnd.oci.image.index.v1+json';
const manifestType = 'application/vnd.oci.image.manifest.v1+json';

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
  const faults = query === null ? [] : [`only the first ${maxPages} pages of what refers to the image were read`];
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
