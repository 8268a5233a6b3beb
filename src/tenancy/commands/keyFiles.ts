import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { ConfigInvalid } from '../../config/configInvalid.ts';
import { readBytes } from '../config/namedFiles.ts';
import { KEY_FILE_BYTES } from '../credentials/keyFile.ts';
import { createFileOnce } from './newFile.ts';

/** The key file; throws ConfigInvalid if it is missing or damaged. */
export function readKeyFile(file: string): Buffer {
  const bytes = readBytes(file);
  if (bytes.length === KEY_FILE_BYTES) return bytes;
  throw new ConfigInvalid(file, [
    { line: null, key: '', message: `must have ${KEY_FILE_BYTES} bytes, and has ${bytes.length}` },
  ]);
}

/** The key file, which is made durably with mode 0600 if it is not there. */
export async function ensureKeyFile(file: string): Promise<Buffer> {
  if (!existsSync(file)) await createFileOnce(file, (part) => part.writeFile(randomBytes(KEY_FILE_BYTES)));
  return readKeyFile(file);
}
