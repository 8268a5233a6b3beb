import { realpath } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { type Ending, endings } from '../../../machines/endings.ts';
import { Fault } from '../../../machines/fault.ts';
import type { ApplyStart } from '../../../machines/services.ts';
import type { DesiredState, Outcome, Sha } from '../../../machines/types.ts';
import { diskFault, isEACCES, isENOENT } from '../../core/errors.rules.ts';
import { printable } from '../../core/text.rules.ts';
import { isImageId } from '../../registry/imageReference.rules.ts';
import type { OtherEnv, Settings } from '../config/configKeys.ts';
import type { ResourceUser } from '../engine/resources.rules.ts';
import { retryPurge } from './down.ts';
import { wasApplied } from './record.rules.ts';
import { Releases } from './releases.ts';
import { anonymousVolumesIn, exposesDirectory, isWithin, rememberVolumes } from './volumes.rules.ts';
import type { RunningTick } from '../journal/journal.ts';
import type { Containers } from '../engine/containers.ts';
import type { StateStore } from '../state/stateFile.ts';
import type { Orchestrator } from './orchestrator.ts';
import { selectForRemoval, unneededImages } from './garbage.rules.ts';

/** The users of images on this host: the releases of its environments. */
export interface ImageKeepers {
  readonly releases: Releases;
  readonly containers: Containers;
  /** The other environments of this host, by their current configurations. */
  readonly otherEnvs: () => readonly OtherEnv[];
  readonly tick: RunningTick;
}

type Held = Pick<ApplyStart, 'hold'>;

/** Dependencies of removing releases and images. */
export interface SpaceDependencies extends ImageKeepers {
  readonly settings: Settings;
  /** Name of the compose project: `deployd-<env>`. */
  readonly project: string;
  readonly state: StateStore;
  readonly stop: AbortController;
}

/** Dependencies of a garbage collection. */
export interface GarbageDependencies extends SpaceDependencies {
  readonly orchestrator: Orchestrator;
  readonly tick: RunningTick;
}

/**
 * Cleans up after every tick. It strips `.env` from failed bundles. Unless the host is held, it retries a pending purge
 * and, after a success, collects garbage. Errors are logged as warnings; the next tick tries again.
 */
export async function cleanUp(
  deps: GarbageDependencies,
  ending: Ending,
  { desired, hold }: Held & { desired: DesiredState | null },
): Promise<void> {
  const { settings, state, stop } = deps;
  await warnOnError(deps, 'secrets of a failed bundle stay for now', () => stripEnvs(deps));
  if (hold !== null) return;
  if ((state.state.purge_pending ?? null) !== null && !stop.signal.aborted)
    await warnOnError(deps, 'what a down left stays for now', async () => retryPurge(deps, desired));
  const succeeded = endings[ending].meta.exit === 0 && ending !== 'offlineLaptop';
  if (succeeded && state.state.applied_sha !== null)
    await collectGarbage(deps, { keep: settings.keep_releases, written: 'kept' });
}

/** The releases that a garbage collection keeps. */
interface Kept {
  /** Number of releases, including the applied one. */
  keep: number;
  /** Treatment of files in a release that neither its bundle nor the agent wrote. */
  written: 'kept' | 'removed';
  /** A release that is being applied, kept in addition to the others. */
  desired?: Sha | null;
}

/**
 * Removes releases beyond `keep` and the images that only they named. Images that any container of the engine mounts or
 * uses, or that a release of another environment names, are kept. Releases in use, and errors, are logged; the next
 * call tries again. A release with files that others wrote also stays, without its secrets, or its files are named
 * before they are removed with it. Returns the number of removed releases and images.
 */
export async function collectGarbage(
  deps: SpaceDependencies,
  { keep, written, desired = null }: Kept,
): Promise<number> {
  let count = 0;
  await warnOnError(deps, 'old releases stay for now', async () => {
    const { containers, releases, tick } = deps;
    if ((await releases.list()).length <= keep) return;
    const users = await containers.resourceUsers();
    const removable = await findRemovable(deps, { keep, users, desired });
    for (const image of removable.images) await containers.removeImage(image);
    count = removable.images.length;
    const keptFiles: string[] = [];
    for (const sha of removable.shas) {
      const files = await releases.writtenFiles(sha, maxNamed[written] + 1, deps.stop.signal);
      if (files.length > 0 && written === 'removed')
        tick.journal.warn(`removed with its release ${sha}: ${listOf(files, maxNamed.removed)}`);
      if (files.length > 0 && written === 'kept') {
        keptFiles.push(`${sha} (${listOf(files, maxNamed.kept)})`);
        await releases.stripEnv(sha);
      } else {
        await rememberAnonymousVolumes(deps, sha);
        await releases.remove(sha, deps.stop.signal);
        count += 1;
      }
    }
    if (keptFiles.length > 0)
      tick.journal.info(
        `old releases stay with files that their bundles do not have: ${keptFiles.join(', ')}; copy what is needed, then: sudo deployd run --once --prune`,
      );
    if (removable.keptByMount.length > 0)
      tick.journal.info(`old releases stay while containers mount them: ${removable.keptByMount.join(', ')}`);
  });
  return count;
}

/**
 * Runs a step of an apply. If it fails because a disk is full, removes the resources that garbage collection would
 * remove after a success, and tries once more if anything was removed. The applied release, the previous one and the
 * desired one keep their images.
 */
export async function withFreedSpace<T>(
  deps: SpaceDependencies,
  desired: Sha | null,
  work: () => Promise<T>,
): Promise<T> {
  return work().catch(async (error: unknown) => {
    const isFull = error instanceof Fault && error.code === 'DISK_INSUFFICIENT';
    if (isFull && (await freeSpace(deps, desired))) return work();
    throw error;
  });
}

/** Removes releases beyond `keep_releases` and images that only they used; true if anything was removed. */
export async function freeSpace(deps: SpaceDependencies, desired: Sha | null): Promise<boolean> {
  const count = await collectGarbage(deps, { keep: deps.settings.keep_releases, written: 'kept', desired });
  if (count > 0) deps.tick.journal.info(`a disk is full: removed ${count} old releases and images`);
  return count > 0;
}

/** Keeps the names of anonymous volumes that only the record of this release contains, for `doctor`. */
async function rememberAnonymousVolumes({ containers, releases, state }: SpaceDependencies, sha: Sha): Promise<void> {
  const record = await releases.readRecord(sha);
  if (record === null || anonymousVolumesIn([record]).length === 0) return;
  const existing = new Set((await containers.volumes()).map(({ name }) => name));
  await state.update({ left_volumes: rememberVolumes(state.state.left_volumes ?? [], record, existing) });
}

/** Maximum number of paths in a line. */
const maxNamed = { kept: 3, removed: 1_000 } as const;

function listOf(paths: readonly string[], most: number): string {
  const named = paths.slice(0, most).map((path) => printable(path));
  return named.join(', ') + (paths.length > most ? ' and more' : '');
}

async function findRemovable(
  deps: SpaceDependencies,
  { keep, users, desired = null }: Pick<Kept, 'keep' | 'desired'> & { users: ResourceUser[] },
) {
  const { containers, releases, state } = deps;
  const shas = await releases.listByAge();
  const others = await imagesOfOtherEnvs(deps);
  const candidates = shas.map(async (sha) => {
    const images = (await releases.readRecord(sha))?.images ?? [];
    return {
      sha,
      images: images.map(({ reference }) => reference),
      ids: images.flatMap(({ id }) => id ?? []),
      restorable: await releases.hasEnv(sha),
    };
  });
  return selectForRemoval({
    releases: await Promise.all(candidates),
    current: state.state.applied_sha,
    desired,
    keep,
    mountedShas: await mountedReleases(deps, { shas, users }),
    usedImages: new Set([
      ...users.flatMap(({ project, image, imageId }) => (project === deps.project ? image : [image, imageId])),
      ...others,
    ]),
    usedImageIds: new Set([...users.map(({ imageId }) => imageId), ...others.filter(isImageId)]),
    engineImages: await containers.images(),
  });
}

/**
 * Releases that a container mounts, by the mount paths as given and by their real paths. A volume may be a bind mount of a host
 * directory. A mount of `current` counts for all releases, since it may have pointed to any of them. Mounts of a parent of
 * the env's directory do not count (spec §12.7).
 */
async function mountedReleases(
  { containers, releases }: ImageKeepers,
  { shas, users }: { shas: string[]; users: ResourceUser[] },
) {
  const volumes = new Set(users.flatMap((user) => user.volumes));
  const volumeDirs = (await containers.volumes())
    .filter(({ name }) => volumes.has(name))
    .flatMap(({ options }) => options['device'] ?? []);
  const paths = [...new Set([...users.flatMap(({ mounts }) => mounts), ...volumeDirs])].filter(isAbsolute);
  const [releasesDir = ''] = shas.map((sha) => dirname(releases.pathOf(sha)));
  const envDir = dirname(releasesDir);
  const ownDirs = [envDir, await realPath(envDir), await realPath(releasesDir)];
  const sources = [...paths, ...(await Promise.all(paths.map(realPath)))].filter((source) =>
    ownDirs.some((directory) => isWithin(source, directory)),
  );
  const isMounted = async (path: string) => {
    const aliases = [path, join(await realPath(dirname(path)), basename(path))];
    return sources.some((source) => aliases.some((alias) => exposesDirectory(source, alias)));
  };
  if (await isMounted(join(envDir, 'current'))) return new Set(shas);
  const mounted = await Promise.all(shas.map((sha) => isMounted(releases.pathOf(sha))));
  return new Set(shas.filter((_, index) => mounted[index]));
}

/** The real path; the path itself when it does not resolve or is not accessible. Other errors are thrown, since they may hide a mount. */
async function realPath(path: string): Promise<string> {
  return realpath(path).catch((error: unknown) => {
    if (isENOENT(error) || isEACCES(error) || unresolvableCodes.has((error as NodeJS.ErrnoException).code ?? ''))
      return path;
    throw diskFault('read', path, error);
  });
}

const unresolvableCodes = new Set(['ENOTDIR', 'ELOOP', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE']);

/** Strips `.env` from bundles that were never applied, except the one whose attempt is recorded. */
async function stripEnvs({ releases, state }: GarbageDependencies): Promise<void> {
  const { applied_sha, attempt } = state.state;
  for (const sha of await releases.list()) {
    if (sha === applied_sha || sha === attempt?.sha || !(await releases.hasEnv(sha))) continue;
    const record = await releases.readRecord(sha);
    if (record === null || !wasApplied(record)) await releases.stripEnv(sha);
  }
}

/** Runs work whose failure is only a warning. */
export async function warnOnError(
  { tick }: { tick: RunningTick },
  warning: string,
  work: () => Promise<void>,
): Promise<void> {
  await work().catch((error: unknown) => {
    tick.journal.warn(`${warning}: ${error instanceof Error ? error.message : 'unknown reason'}`);
  });
}

/** `--prune` (spec §2): removes all releases except the applied one and, after an apply, dangling images; on a held host nothing. */
export async function prune(deps: GarbageDependencies, { hold, outcome }: Held & { outcome: Outcome }): Promise<void> {
  if (hold !== null) return;
  await collectGarbage(deps, { keep: deps.state.state.applied_sha === null ? 0 : 1, written: 'removed' });
  if (outcome.ending === 'applied') await deps.orchestrator.prune();
}

/**
 * Removes dangling images, except images that a release on disk ran, in this or another environment of the host (spec
 * §22.5): the release may be reverted to, and its tag may name another image.
 */
export async function pruneImages(deps: ImageKeepers): Promise<void> {
  const { containers, releases } = deps;
  await warnOnError(deps, 'dangling images stay for now', async () => {
    // Listed before the releases are read, so that images that another environment pulls meanwhile are not in the list.
    const dangling = await containers.images({ dangling: true });
    const needed = [...(await imagesOfReleases(releases, await releases.list())), ...(await imagesOfOtherEnvs(deps))];
    for (const id of unneededImages(dangling, needed)) await containers.removeImage(id);
  });
}

/**
 * The images that releases of another environment name: references, and ids if they ran them. Throws a fault if these
 * releases cannot be read.
 */
async function imagesOfOtherEnvs({ otherEnvs }: Pick<ImageKeepers, 'otherEnvs'>): Promise<string[]> {
  return (await Promise.all(otherEnvs().map(imagesOf))).flat();
}

async function imagesOf({ config_file, env, state_dir }: OtherEnv): Promise<string[]> {
  if (env === undefined || state_dir === undefined)
    throw new Fault('failed', `images that its environment may need: ${config_file} cannot be used`);
  const releases = new Releases(state_dir, join(state_dir, env));
  return imagesOfReleases(releases, await releases.listIfExists());
}

/** The images that releases on disk name: references, and ids if they ran them. */
async function imagesOfReleases(releases: Pick<Releases, 'readRecord'>, shas: readonly Sha[]): Promise<string[]> {
  const records = shas.map((sha) => releases.readRecord(sha));
  return (await Promise.all(records)).flatMap((record) => [
    ...(record?.images ?? []).flatMap(({ reference, id }) => (id === null ? reference : [reference, id])),
    ...(record?.verified_images ?? []).map(({ image }) => image),
  ]);
}
