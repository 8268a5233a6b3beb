import { readRegular } from '../../platform/regularFile.ts';
import { certificateOf, certificatesIn } from '../../platform/authorities.ts';

/** What was found where a PEM file of certificates should be; what cannot be read is told with the code of the error. */
export type Authority = 'good' | 'missing' | 'not PEM' | `unreadable (${string})`;

/** Looks at a file of certificates; every block in it must be one. */
export function inspectAuthority(path: string): Authority {
  try {
    return isPem(readRegular(path).toString('latin1')) ? 'good' : 'not PEM';
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' ? 'missing' : `unreadable (${code})`;
  }
}

function isPem(text: string): boolean {
  const blocks = certificatesIn(text);
  return blocks.length > 0 && blocks.every((block) => certificateOf(block) !== null);
}
