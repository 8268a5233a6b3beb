/**
 * An image reference as an engine reads it, so that two ways to write one name become one text: Docker's registry where
 * none is named, its `library/` where no owner is, the tag `latest` where neither tag nor digest is. With a digest the tag
 * means nothing.
 */
export function fullName(reference: string): string {
  const { host, path } = split(reference);
  const [, repository = path, tag, digest] = /^(.+?)(?::([^:/@]+))?(?:@(.+))?$/.exec(path) ?? [];
  const owned = host === hub && !repository.includes('/') ? `library/${repository}` : repository;
  return `${host}/${owned}${digest === undefined ? `:${tag ?? 'latest'}` : `@${digest}`}`;
}

/** Whether it is the id of an image, and no name. */
export function isImageId(image: string): boolean {
  return /^sha256:[0-9a-f]{64}$/.test(image);
}

/** The registry that a reference names, with its port; `docker.io` where it names none. */
export function hostOf(reference: string): string {
  return split(reference).host;
}

const hub = 'docker.io';

/** The first part is a host when it could be no name of an owner: those have no dot, no colon and no capital letter. */
function split(reference: string): { host: string; path: string } {
  const slash = reference.indexOf('/');
  const first = reference.slice(0, Math.max(0, slash));
  const isHost = first === 'localhost' || /[.:A-Z]/.test(first);
  if (!isHost) return { host: hub, path: reference };
  return { host: first === `index.${hub}` ? hub : first, path: reference.slice(slash + 1) };
}
