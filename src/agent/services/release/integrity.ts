import { createHash } from 'node:crypto';
import { failure, Fault } from '../../../../machines/fault.ts';
import type { Sha } from '../../../../machines/words.ts';
import { digestOf } from '../../adapters/files/digest.ts';
import { DiskFault } from '../../adapters/files/files.ts';
import { damagesOf, putBack } from '../../adapters/files/releaseFiles.ts';
import { OVERRIDE_FILE } from '../../adapters/files/ownFiles.ts';
import { contentSources, writablePaths } from '../../rules/compose/contents.ts';
import type { ComposeFile } from '../../rules/compose/tree.ts';
import { parseEnvFile } from '../../rules/bundle/envFile.ts';
import { isNeeded, repairedAgain, type Contents, type Inventory } from '../../rules/bundle/inventory.ts';
import type { ReleaseRecord } from '../../rules/release/record.ts';
import { readComposeFiles } from '../apply/composeFiles.ts';
import { overrideOf } from '../apply/override.ts';
import { makeEmpty } from '../apply/unpack.ts';
import type { Tools } from '../tools.ts';

/**
 * Sees to it that a release is what its bundle made it, before compose reads it (spec §12): what is lost or damaged is put
 * back from the archive of the bundle, which is fetched again where it is gone too. What a container made of files that it
 * may write to stays. Throws `RELEASE_INCOMPLETE` where something that is needed cannot be had, and what the disk says where
 * it cannot be read or written.
 */
export async function ensureIntact(tools: Tools, sha: Sha, signal: AbortSignal): Promise<void> {
  const { releases } = tools;
  const [record, inventory] = [await releases.readRecord(sha), await releases.readInventory(sha)];
  if (record === null) return;
  const damages = inventory === null ? null : await damagesIn(tools, inventory, signal);
  if (damages?.length === 0) return;
  try {
    await mend(tools, { record, inventory, damages }, signal);
  } catch (error) {
    if (!(error instanceof Fault) || error.ending === 'stopped') throw error;
    const lost = neededOf(damages ?? [], inventory, record);
    if (lost.length > 0 && error instanceof DiskFault) throw error;
    if (lost.length > 0)
      throw failure(
        'RELEASE_INCOMPLETE',
        `release ${sha} lacks ${listed(lost)}, and its bundle cannot be had: ${error.message}`,
      );
    tools.tick.journal.warn(`release ${sha} cannot be compared with its bundle: ${error.message}`);
  } finally {
    await releases.clearStaging(sha, signal);
  }
}

/** Nothing is known to be needed where there is no list. */
function neededOf(damages: string[], inventory: Inventory | null, { compose }: ReleaseRecord): string[] {
  if (inventory === null) return [];
  return damages.filter((path) => path === OVERRIDE_FILE || isNeeded(path, inventory, compose));
}

/** The release to go back to is mended while it is not needed yet; where it cannot be, that is told and stops nothing. */
export async function ensureWayBack(tools: Tools, sha: Sha, signal: AbortSignal): Promise<void> {
  await ensureIntact(tools, sha, signal).catch((error: unknown) => {
    if (!(error instanceof Fault) || error.ending === 'stopped') throw error;
    tools.tick.journal.warn(`a way back to ${sha} may fail: ${error.message}`);
  });
}

/** A bundle whose files lie unpacked in staging, and what the override of its release is made of. */
export interface Unpacked {
  sha: Sha;
  contents: Contents;
  files: ComposeFile[];
  env: ReadonlyMap<string, string>;
}

/** The list of a release's files, and the override that goes with it. */
export async function described(tools: Tools, unpacked: Unpacked, repairs: Inventory['repairs']) {
  const { sha, contents, files } = unpacked;
  const override = await overrideOf(tools, { ...unpacked, repairs });
  const reached = [...new Set([...contentSources(files).values()].flatMap((each) => each.files))].sort();
  const own = { reached, writable: writablePaths(files), override: sha256(override), repairs };
  return { override, inventory: { schema: 1 as const, sha, ...contents, ...own } };
}

/**
 * Puts what differs in a release that is there already back from staging, and tells it. What has to be made anew to see it
 * is written down first, so that no crash forgets that. The override is left to the caller.
 */
export async function putRight(
  tools: Tools,
  { strict, ...unpacked }: Unpacked & { strict: boolean },
  signal: AbortSignal,
): Promise<string> {
  const { releases, tick } = tools;
  const { sha, contents, files } = unpacked;
  const before = await releases.readInventory(sha);
  const compared = { dir: releases.pathOf(sha), contents, writable: writablePaths(files), strict };
  const damages = await damagesOf(compared, signal);
  const sources = [...contentSources(files).values()].flatMap((each) => each.files);
  const seen = damages.filter((path) => sources.some((source) => path === source || path.startsWith(`${source}/`)));
  const { inventory, override } = await described(tools, unpacked, repairedAgain(before?.repairs ?? [], seen));
  if (JSON.stringify(before) !== JSON.stringify(inventory)) await releases.writeInventory(sha, inventory);
  const { kept, left } = await putBack(damages, { ...compared, from: releases.stagingOf(sha) }, signal);
  if (damages.length > 0) tick.journal.warn(`release ${sha} was damaged; put right: ${listed(damages)}`);
  if (left.length > 0)
    tick.journal.warn(`a container has closed its directory to the agent; not put right: ${listed(left)}`);
  for (const [path, name] of kept) tick.journal.warn(`what stood in the place of ${path} is kept as ${name} beside it`);
  return override;
}

interface Damaged {
  record: ReleaseRecord;
  inventory: Inventory | null;
  damages: string[] | null;
}

async function mend(tools: Tools, { record, inventory, damages }: Damaged, signal: AbortSignal): Promise<void> {
  const { releases } = tools;
  const { sha } = record;
  const onlyOverride = inventory !== null && damages?.every((path) => path === OVERRIDE_FILE);
  const contents = onlyOverride ? inventory : await unpackedAgain(tools, sha, signal);
  const dir = onlyOverride ? releases.pathOf(sha) : releases.stagingOf(sha);
  const { files } = await readComposeFiles({ dir, manifest: record }, signal);
  const env = parseEnvFile((await releases.readEnv(sha)) ?? '');
  if (env === null) throw failure('RELEASE_INCOMPLETE', `release ${sha} has no .env of the agent's`);
  const { files: own, directories } = contents;
  const unpacked = { sha, contents: { files: own, directories }, files, env };
  await releases.writeOverride(sha, await putRight(tools, { ...unpacked, strict: false }, signal));
}

async function damagesIn({ releases }: Tools, inventory: Inventory, signal: AbortSignal): Promise<string[]> {
  const { sha, writable } = inventory;
  const compared = { dir: releases.pathOf(sha), contents: inventory, writable, strict: false };
  const damages = await damagesOf(compared, signal);
  const override = await releases.readOverride(sha);
  return override !== null && sha256(override) === inventory.override ? damages : [...damages, OVERRIDE_FILE];
}

/** Unpacks the archive into staging, fetched again where it is not what it was. */
async function unpackedAgain(tools: Tools, sha: Sha, signal: AbortSignal): Promise<Contents> {
  const { download, releases, settings } = tools;
  const { limits } = settings;
  const file = releases.bundleOf(sha);
  if ((await digestOf(file, signal)) !== sha)
    await download({ sha, sizeBytes: limits.bundle_bytes, file, part: releases.partOf(sha) }, signal);
  const into = releases.stagingOf(sha);
  await makeEmpty(into, signal);
  const { unpack } = await import('../../adapters/files/archive.ts');
  return unpack({ file, into, limits, signal });
}

function listed(paths: readonly string[]): string {
  const more = paths.length - few;
  return paths.slice(0, few).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

const few = 5;

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
