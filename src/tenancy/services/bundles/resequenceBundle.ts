import { join } from 'node:path';
import { repack } from '../../../bundle/repack.ts';
import { changeManifest } from '../../../protocol/manifestText.ts';
import type { BundleRow } from '../../store/database.ts';
import type { Dependencies } from '../dependencies.ts';
import { storeArchive } from './archiveStorage.ts';
import { fetchArchive } from './fetchArchive.ts';
import { withScratchDirectory } from './scratchDirectory.ts';
import { takeSequence } from './takeSequence.ts';

/**
 * Packs a bundle anew under the next sequence of its env and stores the archive; all else stays as it is. Returns the row,
 * which is not inserted yet. Throws 503 `DISK_FULL`, `BUNDLE_MISSING` and `BUNDLE_DAMAGED`, and PeerErrors.
 */
export function resequenceBundle(deps: Dependencies, bundle: BundleRow, receivedFrom: string): Promise<BundleRow> {
  return withScratchDirectory(deps, async (dir) => {
    const { signal } = new AbortController();
    const [file, into] = [join(dir, 'base'), join(dir, 'repacked')];
    await fetchArchive(deps, { sha256: bundle.sha256, file, signal });
    const sequence = await takeSequence(deps, bundle.env);
    const packed = await repack({ file, into, scratchDir: dir, signal }, async (text) =>
      changeManifest(text, () => ({ sequence })),
    );
    if (packed === null) throw new TypeError('a bundle was packed without a manifest');
    const { sha256, sizeBytes } = packed;
    await storeArchive(deps, { sha256, file: into });
    const received = { received_at: deps.clock(), received_from: receivedFrom, replaces: null };
    return { ...bundle, sha256, sequence, size_bytes: sizeBytes, ...received };
  });
}
