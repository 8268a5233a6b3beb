import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';

declare const judged: unique symbol;

/** Certificates in PEM that TLS may be told to trust (spec §15): one at least of them can be read. */
export type Authorities = string[] & { readonly [judged]: true };

/**
 * What a text tells to trust; null where it holds no certificate that can be read. An empty text would be none given to
 * TLS, which then believes the public roots of the runtime.
 */
export function authoritiesIn(text: string): Authorities | null {
  const found = certificatesIn(text);
  return found.some((pem) => certificateOf(pem) !== null) ? (found as Authorities) : null;
}

/** The blocks of a text that call themselves certificates. Each by itself, as OpenSSL reads a text to its first bad one. */
export function certificatesIn(text: string): string[] {
  return text.match(/^-----BEGIN CERTIFICATE-----[^-]+^-----END CERTIFICATE-----/gm) ?? [];
}

/** Null where it cannot be read. */
export function certificateOf(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** The only place where TLS is told whom to trust, so that nobody is trusted by default: TLS 1.2 or newer. */
export function contextOf(ca: Authorities, own: Omit<SecureContextOptions, 'ca' | 'minVersion'> = {}): SecureContext {
  return createSecureContext({ ...own, ca, minVersion: 'TLSv1.2' });
}
