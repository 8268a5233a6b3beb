import { failedFault, Fault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/types.ts';
import { digestOf } from '../../../core/files.ts';
import { DiskFault } from '../../../core/errors.rules.ts';
import { findDamage } from '../../adapters/release/releaseRepair.ts';
import { OVERRIDE_FILE } from '../../adapters/release/generatedFiles.ts';
import { parseEnvFile } from '../../rules/bundle/envFile.ts';
import { type BundleContents, type Inventory, isRequired } from '../../../bundle/archive/inventory.rules.ts';
import type { ReleaseRecord } from '../../rules/release/releaseRecord.ts';
import { readComposeFiles } from '../../../bundle/compose/composeFiles.ts';
import { createEmptyDirectory } from '../apply/unpack.ts';
import type { Dependencies } from '../dependencies.ts';
import { formatPaths, repairRelease, sha256 } from './repairRelease.ts';

/**
 * Repairs the files of a release before compose reads them (spec §12): missing or damaged files are restored from the archive of
 * the bundle, which is downloaded again when it is gone. Files that containers may write to are not repaired. Throws
 * `RELEASE_INCOMPLETE` when a required file cannot be restored, and the disk's fault when it cannot be read or written.
 */
export async function ensureIntact(deps: Dependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  const { releases } = deps;
  const [record, inventory] = [await releases.readRecord(sha), await releases.readInventory(sha)];
  if (record === null) return;
  const damages = inventory === null ? null : await findReleaseDamage(deps, inventory, signal);
  if (damages?.length === 0) return;
  try {
    await repairFromBundle(deps, { record, inventory, damages }, signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending === 'stopped') throw error;
    const missing = requiredPaths(damages ?? [], inventory, record);
    if (missing.length > 0 && error instanceof DiskFault) throw error;
    if (missing.length > 0)
      throw failedFault(
        'RELEASE_INCOMPLETE',
        `release ${sha} lacks ${formatPaths(missing)}, and its bundle cannot be had: ${error.message}`,
      );
    deps.tick.journal.warn(`release ${sha} cannot be compared with its bundle: ${error.message}`);
  } finally {
    await releases.clearStaging(sha, signal);
  }
}

/** Damaged paths that the release cannot run without; none are known without an inventory. */
function requiredPaths(damages: string[], inventory: Inventory | null, { compose }: ReleaseRecord): string[] {
  if (inventory === null) return [];
  return damages.filter((path) => path === OVERRIDE_FILE || isRequired(path, inventory, compose));
}

/** Repairs the applied release before an apply that may revert to it; a failure is logged and does not stop the apply. */
export async function ensureRevertible(deps: Dependencies, sha: Sha, signal: AbortSignal): Promise<void> {
  await ensureIntact(deps, sha, signal).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.ending === 'stopped') throw error;
    deps.tick.journal.warn(`a way back to ${sha} may fail: ${error.message}`);
  });
}

interface DamagedRelease {
  record: ReleaseRecord;
  inventory: Inventory | null;
  damages: string[] | null;
}

async function repairFromBundle(
  deps: Dependencies,
  { record, inventory, damages }: DamagedRelease,
  signal: AbortSignal,
): Promise<void> {
  const { releases } = deps;
  const { sha } = record;
  const onlyOverride = inventory !== null && damages?.every((path) => path === OVERRIDE_FILE);
  const contents = onlyOverride ? inventory : await unpackBundleAgain(deps, sha, signal);
  const dir = onlyOverride ? releases.pathOf(sha) : releases.stagingOf(sha);
  const { files } = await readComposeFiles({ dir, manifest: record }, signal);
  const env = parseEnvFile((await releases.readEnv(sha)) ?? '');
  if (env === null) throw failedFault('RELEASE_INCOMPLETE', `release ${sha} has no .env of the agent's`);
  const { verified_images: images = [] } = record;
  const staged = { sha, contents: { files: contents.files, directories: contents.directories }, files, env, images };
  await releases.writeOverride(sha, await repairRelease(deps, { ...staged, strict: false }, signal));
}

async function findReleaseDamage(
  { releases }: Dependencies,
  inventory: Inventory,
  signal: AbortSignal,
): Promise<string[]> {
  const { sha, writable } = inventory;
  const compared = { dir: releases.pathOf(sha), contents: inventory, writable, strict: false };
  const damages = await findDamage(compared, signal);
  const override = await releases.readOverride(sha);
  return override !== null && sha256(override) === inventory.override ? damages : [...damages, OVERRIDE_FILE];
}

/** Unpacks the archive into staging; downloads it again when it is missing or damaged. */
async function unpackBundleAgain(deps: Dependencies, sha: Sha, signal: AbortSignal): Promise<BundleContents> {
  const { download, releases, settings } = deps;
  const { limits } = settings;
  const file = releases.bundleOf(sha);
  if ((await digestOf(file, signal)) !== sha)
    await download({ sha, sizeBytes: limits.bundle_bytes, file, partialFile: releases.partialFileOf(sha) }, signal);
  const into = releases.stagingOf(sha);
  await createEmptyDirectory(into, signal);
  const { unpack } = await import('../../../bundle/archive/archive.ts');
  return unpack({ file, into, limits, signal });
}
