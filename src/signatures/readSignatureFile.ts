import { duplicateKeys } from '../protocol/duplicateKeys.ts';
import { printable } from '../protocol/printable.ts';
import { signatureLimits } from '../protocol/signatureLimits.ts';
import { readRegularFile } from '../platform/regularFile.ts';
import { SignatureFault } from './signatureFault.ts';

/** White space between the fields counts in a file only. */
const maxFileBytes = 4 * signatureLimits.bytes;

/** Reads the file of one signature as JSON; it is not verified. Throws `SignatureFault`, which names the file. */
export function readSignatureFile(path: string): unknown {
  const text = readText(path);
  const json = parseJson(path, text);
  const [duplicate] = duplicateKeys(text);
  if (duplicate !== undefined) throw new SignatureFault(`${path}: ${printable(duplicate)} stands twice`);
  return json;
}

function readText(path: string): string {
  try {
    return readRegularFile(path, maxFileBytes).toString('utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw new SignatureFault(code === 'ENOENT' ? `${path} is missing` : `${path} cannot be read (${code})`);
  }
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new SignatureFault(`${path} is not JSON`);
  }
}
