import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { heed } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/words.ts';
import { diskFault, isENOENT } from './files.ts';
import { openRegular } from '../../../platform/regularFile.ts';

/** Lower-case hex sha256 of a file, null when there is none. Throws `stopped` when the signal says so. */
export async function digestOf(path: string, signal: AbortSignal): Promise<string | null> {
  try {
    await using file = await openRegular(path, { follow: true });
    return await digestOfOpen(file, Infinity, signal);
  } catch (error) {
    heed(signal);
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  }
}

/** The same of an open file's first bytes. */
export async function digestOfOpen(file: FileHandle, maxBytes: number, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(pieceBytes, maxBytes)));
  for (let at = 0; at < maxBytes;) {
    heed(signal);
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, maxBytes - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest('hex');
}

const pieceBytes = 262_144;

/** True for a digest of this form. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** The digest itself; anything else would be a bug of the caller. */
export function asDigest(sha: Sha): Sha {
  if (!isDigest(sha)) throw new TypeError('not a sha256 digest');
  return sha;
}
