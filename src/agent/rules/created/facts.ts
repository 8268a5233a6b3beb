/** A capability without the prefix that may stand before it: `NET_ADMIN`. */
export function capabilityOf(name: string): string {
  return name.toUpperCase().replace(/^CAP_/, '');
}

/** A security option in one spelling; a seccomp profile, whose text the engine keeps, by that it is one. */
export function securityOf(option: string): string {
  const [name = '', value] = option.split(/[:=](.*)/s);
  if (name === 'no-new-privileges') return value === 'false' ? 'no-new-privileges=false' : name;
  const isProfile = name === 'seccomp' && !/^(unconfined|builtin)$/.test(value ?? '');
  return isProfile ? 'seccomp=profile' : `${name}=${value ?? ''}`;
}
