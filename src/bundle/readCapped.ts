import { diskFault } from '../platform/errors/diskFault.ts';
import { openRegularFile } from '../platform/regularFile.ts';

/**
 * The text of a file written by people, truncated to `maxBytes`, without a byte order mark (of `latin1` with it). Null when it is absent, not a regular file (a link
 * included), or the name is impossible. Throws any other error of the disk.
 */
export async function readCapped(
  path: string,
  maxBytes: number,
  encoding: 'utf8' | 'latin1' = 'utf8',
): Promise<string | null> {
  try {
    await using file = await openRegularFile(path, { follow: false });
    // one byte more, so that an empty file is read, too, and tells its error
    const length = Math.min((await file.stat()).size + 1, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, 0);
    return buffer.toString(encoding, 0, bytesRead).replace(/^\ufeff/, '');
  } catch (error) {
    if (notAFileCodes.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw diskFault('read', path, error);
  }
}

const notAFileCodes = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENOTREG',
  'ENXIO',
  'ENAMETOOLONG',
  'ELOOP',
  'ERR_INVALID_ARG_VALUE',
]);
