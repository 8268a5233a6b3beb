import { readRegularFile } from '../../platform/regularFile.ts';
import { usageError } from '../ctlError.ts';

const maxBytes = 65_536;

/** The text of a file of at most 64 KiB. Throws FILE_UNREADABLE. */
export function readSmallFile(file: string): string {
  try {
    return readRegularFile(file, maxBytes).toString('utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw usageError('FILE_UNREADABLE', `${file} cannot be read (${code})`);
  }
}
