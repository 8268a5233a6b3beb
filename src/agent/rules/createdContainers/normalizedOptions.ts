/** A capability in upper case without the optional `CAP_` prefix: `NET_ADMIN`. */
export function normalizeCapability(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, '');
}

/**
 * A security option in one spelling. The engine stores the text of a seccomp profile, so it becomes `seccomp=profile`.
 */
export function normalizeSecurityOption(option: string): string {
  const [name = '', value] = option.split(/[:=](.*)/s);
  if (name === 'no-new-privileges') return value === 'false' ? 'no-new-privileges=false' : name;
  const isProfile = name === 'seccomp' && !/^(unconfined|builtin)$/.test(value ?? '');
  return isProfile ? 'seccomp=profile' : `${name}=${value ?? ''}`;
}

/** True for a propagation that the engine does not distinguish from its default. */
export function isPrivatePropagation(propagation: string): boolean {
  return ['', 'private', 'rprivate'].includes(propagation);
}

/** A path in the engine's form, without `.`, `..` and empty parts. */
export function normalizePath(path: string): string {
  if (!path.startsWith('/')) return path;
  const parts: string[] = [];
  for (const part of path.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}
