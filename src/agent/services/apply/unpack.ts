import { chmod, mkdir, rm } from 'node:fs/promises';
import { refusedFault, throwIfStopped } from '../../../../machines/fault.ts';
import type { Bundle, DesiredState, Manifest } from '../../../../machines/types.ts';
import { diskFault } from '../../../core/errors.rules.ts';
import { removeTree } from '../../../core/treeRemoval.ts';
import { readManifest } from '../../../bundle/readBundle.ts';
import type { BundleContents } from '../../../bundle/archive/inventory.rules.ts';
import type { Dependencies } from '../dependencies.ts';
import { desiredShaOf } from './download.ts';
import { requireSigners } from './verifySignatures.ts';

/** Unpacks the verified bundle into staging and reads its manifest; throws the refusals of both (spec §5). */
export async function unpack(
  deps: Dependencies,
  { desired }: { desired: DesiredState },
  signal: AbortSignal,
): Promise<Bundle> {
  const { releases, settings, tick } = deps;
  const sha = desiredShaOf(desired);
  const dir = releases.stagingOf(sha);
  await createEmptyDirectory(dir, signal);
  const archive = await import('../../../bundle/archive/archive.ts');
  tick.bundleContents = await archive.unpack({
    file: releases.bundleOf(sha),
    sha256: sha,
    into: dir,
    limits: settings.limits,
    signal,
  });
  try {
    const manifest = await readSignedManifest(deps, dir);
    return { sha, dir, manifest };
  } catch (error) {
    await releases.clearStaging(sha, signal);
    throw error;
  }
}

async function readSignedManifest(deps: Dependencies, dir: string): Promise<Manifest> {
  const parsed = await readManifest(dir, deps.settings.env);
  if ('refusal' in parsed) throw refusedFault([parsed.refusal]);
  deps.tick.signers = requireSigners(deps, parsed.manifest);
  return parsed.manifest;
}

/** Contents of the bundle that this tick unpacked. */
export function bundleContentsOf({ tick }: Dependencies): BundleContents {
  if (tick.bundleContents === null) throw new TypeError('no bundle was unpacked');
  return tick.bundleContents;
}

/** Creates an empty directory, replacing an existing one. Throws `DISK_WRITE_FAILED` or `stopped`. */
export async function createEmptyDirectory(dir: string, signal: AbortSignal): Promise<void> {
  await removeTree(dir, { signal, untilMs: Infinity });
  throwIfStopped(signal);
  try {
    await rm(dir, { recursive: true, force: true });
    await mkdir(dir, { recursive: true });
    await chmod(dir, 0o755);
  } catch (error) {
    throw diskFault('write', dir, error);
  }
}
