import { diskFault } from './files.ts';
import { openRegular } from '../../../platform/regularFile.ts';

/**
 * The text of a file that people write, of at most so many bytes: what is longer is cut off there. Null where no file has
 * that name, or none can; a link counts as none. Throws where the disk does not give it.
 */
export async function smallText(path: string, maxBytes: number): Promise<string | null> {
  try {
    await using file = await openRegular(path, { follow: false });
    const { buffer, bytesRead } = await file.read(Buffer.alloc(maxBytes), 0, maxBytes, 0);
    return buffer.toString('utf8', 0, bytesRead);
  } catch (error) {
    if (noFile.has((error as NodeJS.ErrnoException).code ?? '')) return null;
    throw diskFault('read', path, error);
  }
}

const noFile = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'ENOTREG',
  'ENXIO',
  'ENAMETOOLONG',
  'ELOOP',
  'ERR_INVALID_ARG_VALUE',
]);
