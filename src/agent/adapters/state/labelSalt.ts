import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { readRegularFile } from '../../../core/files.ts';
import { diskFault, isENOENT } from '../../../core/errors.rules.ts';
import { writeDurably } from '../files/durableFiles.ts';

const SALT_BYTES = 32;

/**
 * The host's key for content labels and env digests, 32 random bytes in `label.salt` (0600), created at first use (spec
 * §12). Throws a Fault when it exists but cannot be read, or cannot be written.
 */
export async function loadLabelSalt(dir: string): Promise<Buffer> {
  const path = join(dir, 'label.salt');
  const existing = readSalt(path);
  if (existing?.length === SALT_BYTES) return existing;
  const salt = randomBytes(SALT_BYTES);
  await writeDurably(path, salt, 0o600);
  return salt;
}

function readSalt(path: string): Buffer | null {
  try {
    return readRegularFile(path, SALT_BYTES);
  } catch (error) {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  }
}
