import { chmod, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { heed, refused } from '../../../../machines/fault.ts';
import type { Bundle, Orders } from '../../../../machines/words.ts';
import { diskFault } from '../../adapters/files/files.ts';
import { removeTree } from '../../adapters/files/removal.ts';
import { smallText } from '../../adapters/files/smallText.ts';
import type { Contents } from '../../rules/bundle/inventory.ts';
import { maxCharacters, parseManifest } from '../../../protocol/manifest.ts';
import type { Tools } from '../tools.ts';
import { wanted } from './download.ts';

/** Unpacks the verified bundle beside the releases and reads its manifest; either may refuse it (spec §5). */
export async function unpack(
  { releases, settings, tick }: Tools,
  { orders }: { orders: Orders },
  signal: AbortSignal,
): Promise<Bundle> {
  const sha = wanted(orders);
  const dir = releases.stagingOf(sha);
  await makeEmpty(dir, signal);
  const archive = await import('../../adapters/files/archive.ts');
  tick.unpacked = await archive.unpack({ file: releases.bundleOf(sha), into: dir, limits: settings.limits, signal });
  const judged = parseManifest(await manifestText(dir), settings.env);
  if ('refusal' in judged) throw refused([judged.refusal]);
  return { sha, dir, manifest: judged.manifest };
}

/** What was unpacked in this tick. */
export function unpackedContents({ tick }: Tools): Contents {
  if (tick.unpacked === null) throw new TypeError('no bundle was unpacked');
  return tick.unpacked;
}

/** A directory with nothing in it, for an archive. Throws `DISK_WRITE_FAILED`, or `stopped`. */
export async function makeEmpty(dir: string, signal: AbortSignal): Promise<void> {
  await removeTree(dir, { signal, untilMs: Infinity });
  heed(signal);
  try {
    await rm(dir, { recursive: true, force: true });
    await mkdir(dir, { recursive: true });
    await chmod(dir, 0o755);
  } catch (error) {
    throw diskFault('write', dir, error);
  }
}

/** The text of a bundle's manifest; throws `MANIFEST_INVALID` where there is none. */
export async function manifestText(dir: string): Promise<string> {
  const text = await smallText(join(dir, 'manifest.json'), 4 * maxCharacters + 4);
  if (text !== null) return text;
  throw refused([{ code: 'MANIFEST_INVALID', detail: 'the bundle has no manifest.json at its root' }]);
}
