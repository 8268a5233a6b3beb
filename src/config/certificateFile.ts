import { parseCertificate, pemCertificatesIn } from '../platform/certificateAuthorities.ts';
import { readRegularFile } from '../platform/regularFile.ts';
import type { KeyProblem } from './configInvalid.ts';

/** Status of a PEM file of certificates; `unreadable` carries the error code. */
export type CertificateFileStatus = 'good' | 'missing' | 'not PEM' | `unreadable (${string})`;

/** Checks a file of certificates: it needs at least one, and every PEM block must be one. No file is good, too. */
export function inspectCertificateFile(path: string | null | undefined): CertificateFileStatus {
  if (!path) return 'good';
  try {
    return isPem(readRegularFile(path).toString('latin1')) ? 'good' : 'not PEM';
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'missing' : `unreadable (${code})`;
  }
}

/** The problem of a key whose value is such a file, if there is one. */
export function certificateProblems(
  key: string,
  path: string | null | undefined,
  status = inspectCertificateFile(path),
): KeyProblem[] {
  return status === 'good' ? [] : [{ key, message: `must be a readable PEM file; ${path ?? ''} is ${status}` }];
}

function isPem(text: string): boolean {
  const blocks = pemCertificatesIn(text);
  return blocks.length > 0 && blocks.every((block) => parseCertificate(block) !== null);
}
