import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { heed } from '../../machines/fault.ts';
import { diskFault, isENOENT } from './files.ts';

/** Lower-case hex sha256 of a file, null when there is none. */
export async function digestOf(path: string, signal: AbortSignal): Promise<string | null> {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path), hash, { signal });
    return hash.digest('hex');
  } catch (error) {
    heed(signal);
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  }
}
