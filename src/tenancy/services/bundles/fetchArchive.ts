import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { digestOf } from '../../../bundle/fileDigest.ts';
import { storageError } from '../../adapters/bundles/bundleStorage.ts';
import type { Dependencies } from '../dependencies.ts';

/** Fetches an archive from the storage into a new file; throws a PeerError if it is not what was stored. */
export async function fetchArchive(
  { bundles }: Dependencies,
  { sha256, file, signal }: { sha256: string; file: string; signal: AbortSignal },
): Promise<void> {
  const bytes = await bundles.open(sha256);
  if (bytes === null) throw storageError('read', `${sha256} is missing`);
  await pipeline(bytes, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal });
  if ((await digestOf(file, signal)) !== sha256) throw storageError('read', `${sha256} is damaged`);
}
