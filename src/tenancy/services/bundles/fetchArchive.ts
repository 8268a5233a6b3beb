import { createWriteStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { digestOf } from '../../../bundle/fileDigest.ts';
import type { Dependencies } from '../dependencies.ts';
import { openArchive, unusableArchive } from './openArchive.ts';

/** Fetches an archive from the storage into a new file; throws 503 `BUNDLE_MISSING` or `BUNDLE_DAMAGED`, and PeerErrors. */
export async function fetchArchive(
  deps: Dependencies,
  { sha256, file, signal }: { sha256: string; file: string; signal: AbortSignal },
): Promise<void> {
  const bytes = await openArchive(deps, sha256);
  await pipeline(bytes, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal });
  if ((await digestOf(file, signal)) === sha256) return;
  deps.log('error', `the bundle storage has other bytes than those of ${sha256}`);
  throw unusableArchive('BUNDLE_DAMAGED', 'the archive of the bundle is damaged');
}
