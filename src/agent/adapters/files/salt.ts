import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readRegular } from '../../../platform/regularFile.ts';
import { diskFault, isENOENT, writeDurably } from './files.ts';

const LENGTH = 32;

/**
 * The host's own key for content labels and seals, 32 random bytes in `label.salt` (0600); made at its first use (spec §12).
 * A Fault where it is there and cannot be read, or cannot be written.
 */
export async function labelSalt(dir: string): Promise<Buffer> {
  const path = join(dir, 'label.salt');
  const found = keptAt(path);
  if (found?.length === LENGTH) return found;
  const made = randomBytes(LENGTH);
  await writeDurably(path, made, 0o600);
  return made;
}

function keptAt(path: string): Buffer | null {
  try {
    return readRegular(path, LENGTH);
  } catch (error) {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  }
}
