import { createHash } from 'node:crypto';
import { chmod, mkdir, rm } from 'node:fs/promises';
import { failedFault, Fault, throwIfStopped } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import {
  type BundleContents,
  countRepairsBelow,
  type Inventory,
  isRequired,
  recordRepairs,
} from '../../bundle/archive/inventory.rules.ts';
import { type ComposeProject, writablePaths } from '../../bundle/compose/composeProject.rules.ts';
import { digestsOf, readComposeProject } from '../../bundle/compose/composeFiles.ts';
import { DiskFault, diskFault } from '../../core/errors.rules.ts';
import { digestOf } from '../../core/files.ts';
import { removeTree } from '../../core/treeRemoval.ts';
import { contentLabel } from '../engine/container.rules.ts';
import { parseEnvFile } from '../secrets/envFile.rules.ts';
import type { VerifiedImage } from '../state/state.rules.ts';
import { loadKeyedDigest } from './fingerprints.ts';
import { OVERRIDE_FILE } from './generatedFiles.ts';
import type { ReleaseRecord } from './record.rules.ts';
import { findDamage, repairFiles } from './releaseRepair.ts';
import type { Settings } from '../config/configKeys.ts';
import type { Releases } from './releases.ts';
import type { Download } from '../transport/download.ts';
import type { RunningTick } from '../journal/journal.ts';

/** Dependencies of repairing a release from its bundle. */
export interface RepairDependencies {
  readonly settings: Settings;
  readonly releases: Releases;
  readonly download: Download;
  readonly tick: RunningTick;
}

/**
 * Repairs the files of a release before compose reads them (spec §12): missing or damaged files are restored from the archive of
 * the bundle, which is downloaded again when it is gone. Files that containers may write to are not repaired. Throws
 * `RELEASE_INCOMPLETE` when a required file cannot be restored, and the disk's fault when it cannot be read or written.
 */
export async function ensureIntact(deps: RepairDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
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
        `release ${sha} lacks ${formatPaths(missing)}, and its bundle cannot be downloaded: ${error.message}`,
      );
    deps.tick.journal.warn(`release ${sha} cannot be compared with its bundle: ${error.message}`);
  } finally {
    await releases.clearStaging(sha, signal);
  }
}

/** Damaged paths that the release cannot run without; empty without an inventory. */
function requiredPaths(damages: string[], inventory: Inventory | null, { compose }: ReleaseRecord): string[] {
  if (inventory === null) return [];
  return damages.filter((path) => path === OVERRIDE_FILE || isRequired(path, inventory, compose));
}

/** Repairs the applied release before an apply that may revert to it; a failure is logged and does not stop the apply. */
export async function ensureRevertible(deps: RepairDependencies, sha: Sha, signal: AbortSignal): Promise<void> {
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
  deps: RepairDependencies,
  { record, inventory, damages }: DamagedRelease,
  signal: AbortSignal,
): Promise<void> {
  const { releases } = deps;
  const { sha } = record;
  const onlyOverride = inventory !== null && damages?.every((path) => path === OVERRIDE_FILE);
  const contents = onlyOverride ? inventory : await unpackBundleAgain(deps, sha, signal);
  const dir = onlyOverride ? releases.pathOf(sha) : releases.stagingOf(sha);
  const { project } = await readComposeProject({ dir, manifest: record }, signal);
  const env = parseEnvFile((await releases.readEnv(sha)) ?? '');
  if (env === null) throw failedFault('RELEASE_INCOMPLETE', `release ${sha} has no .env of the agent's`);
  const { verified_images: images = [] } = record;
  const staged = { sha, contents: { files: contents.files, directories: contents.directories }, project, env, images };
  await releases.writeOverride(sha, await repairRelease(deps, { ...staged, strict: false }, signal));
}

async function findReleaseDamage(
  { releases }: RepairDependencies,
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
async function unpackBundleAgain(deps: RepairDependencies, sha: Sha, signal: AbortSignal): Promise<BundleContents> {
  const { download, releases, settings } = deps;
  const { limits } = settings;
  const file = releases.bundleOf(sha);
  if ((await digestOf(file, signal)) !== sha)
    await download({ sha, sizeBytes: limits.bundle_bytes, file, partialFile: releases.partialFileOf(sha) }, signal);
  const into = releases.stagingOf(sha);
  await createEmptyDirectory(into, signal);
  const { unpack } = await import('../../bundle/archive/archive.ts');
  return unpack({ file, into, limits, signal });
}

/** A bundle in staging, with the input of its override. */
export interface StagedBundle {
  sha: Sha;
  contents: BundleContents;
  project: ComposeProject;
  env: ReadonlyMap<string, string>;
  images: readonly VerifiedImage[];
}

/** The inventory of a release and its override. */
export async function describeRelease(deps: RepairDependencies, staged: StagedBundle, repairs: Inventory['repairs']) {
  const { sha, contents, project } = staged;
  const override = await overrideOf(deps, { ...staged, repairs });
  const reached = [...new Set([...project.sources.values()].flatMap((each) => each.files))].sort();
  const derived = { reached, writable: writablePaths(project), override: sha256(override), repairs };
  return { override, inventory: { schema: 1 as const, sha, ...contents, ...derived } };
}

/**
 * Replaces the differing files of an existing release from staging and logs them. Repairs that require a container to be
 * recreated are recorded first, so that a crash does not lose them. Returns the override; the caller writes it.
 */
export async function repairRelease(
  deps: RepairDependencies,
  { strict, ...staged }: StagedBundle & { strict: boolean },
  signal: AbortSignal,
): Promise<string> {
  const { releases, tick } = deps;
  const { sha, contents, project } = staged;
  const before = await releases.readInventory(sha);
  const compared = { dir: releases.pathOf(sha), contents, writable: writablePaths(project), strict };
  const damages = await findDamage(compared, signal);
  const mounted = [...project.sources.values()].flatMap((each) => each.files);
  const mountedDamages = damages.filter((path) =>
    mounted.some((source) => path === source || path.startsWith(`${source}/`)),
  );
  const { inventory, override } = await describeRelease(
    deps,
    staged,
    recordRepairs(before?.repairs ?? [], mountedDamages),
  );
  if (JSON.stringify(before) !== JSON.stringify(inventory)) await releases.writeInventory(sha, inventory);
  const { movedAside, skipped } = await repairFiles(damages, { ...compared, from: releases.stagingOf(sha) }, signal);
  if (damages.length > 0) tick.journal.warn(`release ${sha} was damaged; put right: ${formatPaths(damages)}`);
  if (skipped.length > 0)
    tick.journal.warn(`a container has closed its directory to the agent; not put right: ${formatPaths(skipped)}`);
  for (const [path, name] of movedAside)
    tick.journal.warn(`what stood in the place of ${path} is kept as ${name} beside it`);
  return override;
}

/** Paths for a journal line, at most `maxListed` of them. */
export function formatPaths(paths: readonly string[]): string {
  const more = paths.length - maxListed;
  return paths.slice(0, maxListed).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Maximum number of paths in a journal line. */
const maxListed = 5;

/** The sha256 of a text, in hex. */
export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
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

/** Input of an override. */
export interface OverrideInput {
  contents: BundleContents;
  project: ComposeProject;
  env: ReadonlyMap<string, string>;
  repairs: Inventory['repairs'];
  /** Images by verified digests; empty if the host trusts no signers of images. */
  images: readonly VerifiedImage[];
}

/**
 * Renders the compose file that labels each service with a digest of its content. Compose then recreates exactly the
 * services whose content changed or was repaired (spec §12); a running container keeps the old inode of a mounted file.
 * `pull_policy` makes compose pull the image of each service that `pull` selects; `up` overrides it with its own
 * option. A verified image is named by its digest, so that exactly this image is pulled and run, also by a heal or a
 * revert.
 */
export async function overrideOf(
  deps: RepairDependencies,
  { contents, project, env, repairs, images }: OverrideInput,
): Promise<string> {
  const keyed = await loadKeyedDigest(deps);
  const { sources } = project;
  const digests = digestsOf(contents, project);
  const mountable = new Set([...sources.values()].flatMap((each) => each.files));
  const below = new Map([...mountable].map((path) => [path, digestOfTree(path, digests)]));
  const services = [...sources].map(([service, { files: mounted, texts, variables }]) => {
    const digest = createHash('sha256');
    for (const path of mounted) digest.update(below.get(path) ?? '').update(repairedText(path, repairs));
    for (const text of texts) digest.update(`${text.length}:${text}`);
    for (const name of variables) digest.update(keyed.of(`${name}=${env.get(name) ?? ''}`), 'hex');
    const hasContent = mounted.length + texts.length + variables.length > 0;
    const labels = hasContent && { labels: { [contentLabel]: digest.digest('hex') } };
    const verified = images.find((each) => each.service === service);
    return [service, { pull_policy: 'always', ...(verified && { image: verified.image }), ...labels }] as const;
  });
  return `${JSON.stringify({ services: Object.fromEntries(services) }, null, 2)}\n`;
}

function repairedText(path: string, repairs: Inventory['repairs']): string {
  const times = countRepairsBelow(path, repairs);
  return times === 0 ? '' : `repaired ${times}`;
}

/** Digest of a file, or of all files below a directory and their paths. */
function digestOfTree(source: string, digests: ReadonlyMap<string, string>): Buffer {
  const own = digests.get(source);
  if (own !== undefined) return Buffer.from(own, 'hex');
  const digest = createHash('sha256');
  const below = [...digests].filter(([path]) => path.startsWith(`${source}/`)).sort(byPath);
  for (const [path, one] of below) digest.update(path.slice(source.length)).update(Buffer.from(one, 'hex'));
  return digest.digest();
}

function byPath([one]: [string, string], [other]: [string, string]): number {
  return one < other ? -1 : 1;
}
