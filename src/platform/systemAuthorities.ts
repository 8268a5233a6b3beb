import { parseAuthorities, type Authorities } from './certificateAuthorities.ts';
import { readSystemRoots } from './systemRoots.ts';

/** The authorities that this system trusts. Throws if its bundle cannot be read, or holds none that can be parsed. */
export function systemAuthorities(): Authorities {
  const { path, pem } = readSystemRoots();
  const authorities = parseAuthorities(pem);
  if (authorities === null) throw new Error(`${path} holds no certificate that can be read`);
  return authorities;
}
