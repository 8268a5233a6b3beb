import { X509Certificate } from 'node:crypto';
import { createSecureContext, rootCertificates, type SecureContext, type SecureContextOptions } from 'node:tls';
import { readRegularFile } from './files.ts';

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

const MAX_BYTES = 4_194_304;

/** The authorities in a PEM file; without a file those that the system trusts. Throws an error that names the file. */
export function readAuthorities(file: string | null): Authorities {
  const bundle = file === null ? readSystemRoots() : { path: file, pem: read(file) };
  const authorities = parseAuthorities(bundle.pem);
  if (authorities === null) throw new Error(`${bundle.path} has no certificate in PEM`);
  return authorities;
}

function read(file: string): string {
  try {
    return readRegularFile(file, MAX_BYTES).toString('latin1');
  } catch (error) {
    throw new Error(`${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`, { cause: error });
  }
}

/** Certificates in PEM, and the file that contains them. */
export interface RootBundle {
  readonly path: string;
  readonly pem: string;
}

/** Debian's bundle, then the bundles of the rpm family and of macOS. Node's own search depends on environment variables. */
const systemBundlePaths = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
];

/**
 * The root certificates that the system trusts (spec §15): the first bundle that exists, otherwise the bundle of the
 * runtime. Throws the error of a bundle that exists but cannot be read, with its `path`.
 */
export function readSystemRoots(paths: readonly string[] = systemBundlePaths): RootBundle {
  for (const path of paths) {
    try {
      return { path, pem: readRegularFile(path).toString('latin1') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw Object.assign(error as Error, { path });
    }
  }
  return { path: 'no bundle', pem: rootCertificates.join('\n') };
}
