import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import { throwIfStopped } from '../../machines/fault.ts';
import type { Sha } from '../../machines/types.ts';
import { diskFault, isENOENT } from '../platform/errors/diskFault.ts';
import { openRegularFile } from '../platform/regularFile.ts';

/** Lower-case hex sha256 of a file, null when it is absent. Throws `stopped` on abort. */
export async function digestOf(path: string, signal: AbortSignal): Promise<string | null> {
  try {
    await using file = await openRegularFile(path, { follow: true });
    return await digestOfHandle(file, Infinity, signal);
  } catch (error) {
    throwIfStopped(signal);
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  }
}

/** Lower-case hex sha256 of the first bytes of an open file. */
export async function digestOfHandle(file: FileHandle, maxBytes: number, signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  const buffer = Buffer.allocUnsafe(Math.max(1, Math.min(chunkBytes, maxBytes)));
  for (let at = 0; at < maxBytes;) {
    throwIfStopped(signal);
    const { bytesRead } = await file.read(buffer, 0, Math.min(buffer.length, maxBytes - at), at);
    if (bytesRead === 0) break;
    hash.update(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
  return hash.digest('hex');
}

const chunkBytes = 262_144;

/** True for a lower-case hex sha256. */
export function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

/** Returns the digest; throws a TypeError for anything else, which would be a bug of the caller. */
export function requireDigest(sha: Sha): Sha {
  if (!isDigest(sha)) throw new TypeError('not a sha256 digest');
  return sha;
}
