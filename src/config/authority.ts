import { readFileSync } from 'node:fs';
import { certificateOf, certificatesIn } from '../tls/authorities.ts';

/** What was found where a PEM file of certificates should be; `unreadable` covers all but a missing file. */
export type Authority = 'good' | 'missing' | 'unreadable' | 'not PEM';

/** Looks at a file of certificates; every block in it must be one. */
export function inspectAuthority(path: string): Authority {
  try {
    return isPem(readFileSync(path, 'latin1')) ? 'good' : 'not PEM';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? 'missing' : 'unreadable';
  }
}

function isPem(text: string): boolean {
  const blocks = certificatesIn(text);
  return blocks.length > 0 && blocks.every((block) => certificateOf(block) !== null);
}
