import { readRegularFile } from '../../platform/regularFile.ts';
import { parseCertificate, pemCertificatesIn } from '../../platform/certificateAuthorities.ts';

/** Status of a PEM file of certificates; `unreadable` carries the error code. */
export type CertificateFileStatus = 'good' | 'missing' | 'not PEM' | `unreadable (${string})`;

/** Checks a file of certificates: it needs at least one, and every PEM block must be one. */
export function inspectCertificateFile(path: string): CertificateFileStatus {
  try {
    return isPem(readRegularFile(path).toString('latin1')) ? 'good' : 'not PEM';
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'missing' : `unreadable (${code})`;
  }
}

function isPem(text: string): boolean {
  const blocks = pemCertificatesIn(text);
  return blocks.length > 0 && blocks.every((block) => parseCertificate(block) !== null);
}
