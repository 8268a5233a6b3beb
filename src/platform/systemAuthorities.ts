import { getCACertificates, rootCertificates } from 'node:tls';
import { parseAuthorities, type Authorities } from './certificateAuthorities.ts';

/** The authorities that this system trusts; those of the runtime if it has none. */
export function systemAuthorities(): Authorities {
  return parseAuthorities(getCACertificates('system').join('\n')) ?? (rootCertificates as Authorities);
}
