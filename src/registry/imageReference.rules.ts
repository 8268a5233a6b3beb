/** The parts of an image reference, as an engine resolves it. */
export interface ImageReference {
  /** With its port; `docker.io` where none is named. */
  registry: string;
  /** With `library/` where Docker's registry has no owner. */
  repository: string;
  /** Null where none is named. */
  tag: string | null;
  /** `sha256:…`, null where none is named. */
  digest: string | null;
}

/** Takes an image reference apart. */
export function parseImageReference(reference: string): ImageReference {
  const { host, path } = splitReference(reference);
  const [, name = path, tag, digest] = /^(.+?)(?::([^:/@]+))?(?:@(.+))?$/.exec(path) ?? [];
  const repository = host === dockerHub && !name.includes('/') ? `library/${name}` : name;
  return { registry: host, repository, tag: tag ?? null, digest: digest ?? null };
}

/**
 * An image reference in its canonical form, as an engine resolves it: with Docker's registry, `library/` and the tag
 * `latest` in place of missing parts. A digest replaces the tag.
 */
export function normalizeImageReference(reference: string): string {
  const { registry, repository, tag, digest } = parseImageReference(reference);
  return `${registry}/${repository}${digest === null ? `:${tag ?? 'latest'}` : `@${digest}`}`;
}

/** True for the id of an image, false for a name. */
export function isImageId(image: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(image);
}

/** The registry of a reference, with its port; `docker.io` by default. */
export function registryOf(reference: string): string {
  return splitReference(reference).host;
}

const dockerHub = 'docker.io';

/** The first part is a host if it cannot be an owner: owners contain no dot, colon or capital letter. */
function splitReference(reference: string): { host: string; path: string } {
  const slash = reference.indexOf('/');
  const first = reference.slice(0, Math.max(0, slash));
  const isHost = first === 'localhost' || /[.:A-Z]/.test(first);
  if (!isHost) return { host: dockerHub, path: reference };
  return { host: first === `index.${dockerHub}` ? dockerHub : first, path: reference.slice(slash + 1) };
}

/** The scope of a login: a registry, or the repositories below one of its paths. */
export interface LoginScope {
  /** As in image references: `registry.example:5000`, or `registry.example:5000/team`. */
  host: string;
}

/** The registry that a login is for, and the path below which it is; '' for all of the registry. */
export function scopeOf({ host }: LoginScope): { registry: string; path: string } {
  const [name = '', ...path] = host.split('/');
  return { registry: registryOf(`${name}/`), path: path.join('/') };
}

/** The login for a repository: of those whose path is its own or above it, the one with the longest; null without one. */
export function loginFor<Login extends LoginScope>(
  logins: readonly Login[],
  { registry, repository }: Pick<ImageReference, 'registry' | 'repository'>,
): Login | null {
  const fitting = logins.filter((login) => {
    const scope = scopeOf(login);
    return scope.registry === registry && (scope.path === '' || `${repository}/`.startsWith(`${scope.path}/`));
  });
  return fitting.reduce<Login | null>(
    (best, login) => (best !== null && best.host.length >= login.host.length ? best : login),
    null,
  );
}
