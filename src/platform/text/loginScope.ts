import { registryOf, type ImageReference } from './imageReference.ts';

/** What a login is for: a registry, or the repositories below one of its paths. */
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
