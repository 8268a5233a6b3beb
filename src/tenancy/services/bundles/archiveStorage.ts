import { announceArchive, holdArchive } from '../../store/archives.ts';
import { insertBundle, type BundleInsertion } from '../../store/bundles.ts';
import type { BundleRow } from '../../store/database.ts';
import type { Store } from '../../store/openStore.ts';
import { ApiError } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';

/**
 * Puts an archive into the storage, from which it is removed again if no bundle comes of it. Throws 503 `ARCHIVE_BUSY`
 * while it is being removed, and PeerErrors.
 */
export async function storeArchive(
  { store, bundles, clock }: Dependencies,
  { sha256, file }: { sha256: string; file: string },
): Promise<void> {
  if (!(await announceArchive(store, sha256, clock()))) throw archiveBusy();
  await bundles.store(sha256, file);
}

/** Adds the bundle of a stored archive in a transaction; throws 503 `ARCHIVE_BUSY` if the archive has been removed meanwhile. */
export async function insertStoredBundle(work: Store, row: BundleRow): Promise<BundleInsertion> {
  const insertion = await insertBundle(work, row);
  if (!(await holdArchive(work, row.sha256))) throw archiveBusy();
  return insertion;
}

function archiveBusy(): ApiError {
  const message = 'an archive of this digest is being removed; try again';
  return new ApiError({ status: 503, code: 'ARCHIVE_BUSY', message, retryAfterS: 5 });
}
