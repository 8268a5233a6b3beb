import { parseManifest, type Descriptor } from './content.ts';
import { bodyOf, type Repository } from './repository.ts';

/**
 * The manifests in a repository that refer to this digest and may hold a Sigstore bundle: as the referrers API tells them or, where
 * a registry has none, as they stand in the index under the fallback tag. Throws `RegistryError`.
 */
export async function referrersOf(repository: Repository, digest: string): Promise<Descriptor[]> {
  const told = (await askApi(repository, digest)) ?? (await readFallbackTag(repository, digest));
  return told.filter(({ mediaType, artifactType }) => mediaType === manifestType && isBundleType(artifactType));
}

const indexType = 'application/vnd.oci.image.index.v1+json';
const manifestType = 'application/vnd.oci.image.manifest.v1+json';

/** Pages of the API that are read. */
const maxPages = 8;

/** Registries without the API answer one of these, or 200 with something else than an index. */
const withoutApi = [400, 404, 405, 406];

/** Null where the registry has no such API. */
async function askApi(repository: Repository, digest: string): Promise<Descriptor[] | null> {
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
  return all;
}

async function readFallbackTag(repository: Repository, digest: string): Promise<Descriptor[]> {
  const body = bodyOf(await repository.get(`manifests/${digest.replace(':', '-')}`, indexType), repository);
  return body === null ? [] : manifestsIn(body);
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
