import { createWriteStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { digestOf } from '../../../bundle/fileDigest.ts';
import { storageError } from '../../adapters/bundles/bundleStorage.ts';
import type { Dependencies } from '../dependencies.ts';
import { openArchive, unusableArchive } from './openArchive.ts';

/** Fetches an archive from the storage into a new file; throws 503 `BUNDLE_MISSING` or `BUNDLE_DAMAGED`, and PeerErrors. */
export async function fetchArchive(
  deps: Dependencies,
  { sha256, file, signal }: { sha256: string; file: string; signal: AbortSignal },
): Promise<void> {
  await copy(await openArchive(deps, sha256), file, signal);
  if ((await digestOf(file, signal)) === sha256) return;
  deps.log('error', `the bundle storage has other bytes than those of ${sha256}`);
  throw unusableArchive('BUNDLE_DAMAGED', 'the archive of the bundle is damaged');
}

/** What the storage breaks off is an error of the storage, and what cannot be written is none. */
async function copy(bytes: Readable, file: string, signal: AbortSignal): Promise<void> {
  const written = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  let isBrokenOff = false;
  bytes.once('error', () => (isBrokenOff = written.errored === null && !signal.aborted));
  await pipeline(bytes, written, { signal }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    throw isBrokenOff ? storageError('read', code ?? message) : error;
  });
}
