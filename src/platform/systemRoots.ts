import { rootCertificates } from 'node:tls';
import { readRegularFile } from './regularFile.ts';

/** Certificates in PEM, and the file that contains them. */
export interface RootBundle {
  readonly path: string;
  readonly pem: string;
}

/** Debian's bundle, then those of the rpm family and of macOS. Node's own search depends on environment variables. */
export const systemBundlePaths = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/cert.pem',
];

/**
 * The root certificates that the system trusts (spec §15): the first bundle that exists, or those of the runtime where
 * none does. Throws the error of a bundle that exists but cannot be read, with its `path`.
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
