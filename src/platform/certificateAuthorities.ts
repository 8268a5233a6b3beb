import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext, type SecureContextOptions } from 'node:tls';

declare const validated: unique symbol;

/** PEM certificates for TLS to trust (spec §15); at least one of them can be parsed. */
export type Authorities = string[] & { readonly [validated]: true };

/**
 * The certificates in a text; null when none can be parsed. Given an empty list, TLS would trust the public roots of
 * the runtime.
 */
export function parseAuthorities(text: string): Authorities | null {
  const found = pemCertificatesIn(text);
  return found.some((pem) => parseCertificate(pem) !== null) ? (found as Authorities) : null;
}

/** The PEM blocks of a text. Split here, because OpenSSL stops reading a text at its first bad block. */
export function pemCertificatesIn(text: string): string[] {
  return text.match(/^-----BEGIN CERTIFICATE-----[^-]+^-----END CERTIFICATE-----/gm) ?? [];
}

/** Null when it cannot be parsed. */
export function parseCertificate(pem: string): X509Certificate | null {
  try {
    return new X509Certificate(pem);
  } catch {
    return null;
  }
}

/** The only place that creates a TLS context, so nothing is trusted by default. TLS 1.2 or newer. */
export function createTlsContext(
  ca: Authorities,
  options: Omit<SecureContextOptions, 'ca' | 'minVersion'> = {},
): SecureContext {
  return createSecureContext({ ...options, ca, minVersion: 'TLSv1.2' });
}
