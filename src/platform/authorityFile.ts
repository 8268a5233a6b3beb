import { parseAuthorities, type Authorities } from './certificateAuthorities.ts';
import { readRegularFile } from './regularFile.ts';
import { readSystemRoots } from './systemRoots.ts';

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
