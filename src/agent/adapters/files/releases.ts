import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { clockMs } from '../../journal/clock.ts';
import type { Sha } from '../../../../machines/words.ts';
import type { Inventory } from '../../rules/bundle/inventory.ts';
import { chmod, mkdir, readdir } from './atOnce.ts';
import { CurrentLink } from './currentLink.ts';
import { asDigest, isDigest } from './digest.ts';
import { diskFault, renameDurably, sweepTemporaries, syncTree } from './files.ts';
import { statsIfThere } from './ifThere.ts';
import { OwnFiles, writeUnpacked } from './ownFiles.ts';
import { removeTree } from './removal.ts';

/** So long a tick removes what containers have written, before it leaves the rest to the next one. */
const patienceMs = 3_000;

/** The releases of one env below the state directory; makes their directories (0700). Throws `DISK_WRITE_FAILED`. */
export async function openReleases(stateDir: string, env: string): Promise<Releases> {
  const home = join(stateDir, env);
  for (const dir of [home, ...['releases', 'bundles', 'staging'].map((name) => join(home, name))]) {
    try {
      await mkdir(dir, { recursive: true, mode: 0o700 });
      await chmod(dir, 0o700);
    } catch (error) {
      throw diskFault('write', dir, error);
    }
  }
  return new Releases(stateDir, home);
}

/**
 * `releases/<sha>`, the link `current`, cached bundles and the staging directory of one env.
 *
 * - A release is there whole or not at all: it moves in from staging, and out to staging before it is deleted.
 * - No path is ever made of anything but the env and digests.
 */
export class Releases extends OwnFiles {
  readonly #stateDir: string;
  readonly #home: string;
  /** The link to the release in force. */
  readonly current: CurrentLink;

  constructor(stateDir: string, home: string) {
    super();
    this.#stateDir = stateDir;
    this.#home = home;
    this.current = new CurrentLink(home);
  }

  /** Directory of a release, whether it exists or not. */
  override pathOf(sha: Sha): string {
    return join(this.#home, 'releases', asDigest(sha));
  }

  /** File of a downloaded bundle. */
  bundleOf(sha: Sha): string {
    return join(this.#home, 'bundles', asDigest(sha));
  }

  /** File of a bundle whose download has not ended. */
  partOf(sha: Sha): string {
    return `${this.bundleOf(sha)}.part`;
  }

  /** Directory to unpack a bundle into; to be made by whoever fills it. */
  stagingOf(sha: Sha): string {
    return join(this.#home, 'staging', asDigest(sha));
  }

  /** All releases, in no order. */
  async list(): Promise<Sha[]> {
    return (await namesIn(join(this.#home, 'releases'))).filter(isDigest);
  }

  /** All releases, the one rendered last first. */
  async listByAge(): Promise<Sha[]> {
    const aged = (await this.list()).map(async (sha) => ({ sha, renderedMs: await this.renderedAt(sha) }));
    return (await Promise.all(aged)).toSorted((a, b) => b.renderedMs - a.renderedMs).map(({ sha }) => sha);
  }

  async exists(sha: Sha): Promise<boolean> {
    return (await statsIfThere(this.pathOf(sha)))?.isDirectory() ?? false;
  }

  /** Makes what was unpacked in staging a release, where there is none yet. Throws `DISK_WRITE_FAILED`, or `stopped`. */
  async adopt(sha: Sha, inventory: Inventory, signal: AbortSignal): Promise<void> {
    const staging = this.stagingOf(sha);
    await writeUnpacked(staging, inventory);
    await syncTree(staging, signal);
    await renameDurably(staging, this.pathOf(sha));
  }

  /** Takes away what was unpacked and is not wanted any more, as far as that is quickly done; sweeps go on with the rest. */
  async clearStaging(sha: Sha, signal: AbortSignal): Promise<void> {
    await removeTree(this.stagingOf(sha), { signal, untilMs: clockMs() + patienceMs });
  }

  /**
   * Takes a release away, its secrets first. What cannot be removed now (a container wrote very much there, or files that
   * belong to somebody else) stays in staging, where every sweep tries again. Throws `DISK_WRITE_FAILED`.
   */
  async remove(sha: Sha, signal: AbortSignal): Promise<void> {
    if (!(await this.exists(sha))) return;
    await this.stripEnv(sha);
    const gone = `${this.stagingOf(sha)}.${randomUUID()}`;
    await renameDurably(this.pathOf(sha), gone);
    await removeTree(gone, { signal, untilMs: clockMs() + patienceMs });
  }

  /**
   * Removes what dead ticks left: staging, half-written files, and every bundle but those of `wanted` and of the releases,
   * which may have to be mended from them. Tells each path that cannot be removed; what takes long is gone on with by the
   * next sweep. Throws `DISK_WRITE_FAILED`.
   */
  async sweep(wanted: Sha | null, signal: AbortSignal): Promise<string[]> {
    const releases = await this.list();
    const dirs = releases.map((sha) => this.pathOf(sha));
    for (const dir of [this.#stateDir, this.#home, ...dirs]) await sweepTemporaries(dir);
    const own = wanted === null ? [] : [this.bundleOf(wanted), this.partOf(wanted)];
    const kept = new Set([...own, ...releases.map((sha) => this.bundleOf(sha))]);
    const bundles = await pathsIn(join(this.#home, 'bundles'));
    const leftovers = await pathsIn(join(this.#home, 'staging'));
    const untilMs = clockMs() + patienceMs;
    const stuck: string[] = [];
    for (const path of [...leftovers, ...bundles.filter((bundle) => !kept.has(bundle))])
      if ((await removeTree(path, { signal, untilMs })) === 'stuck') stuck.push(path);
    return stuck;
  }
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: unknown) => {
    throw diskFault('read', dir, error);
  });
}

async function pathsIn(dir: string): Promise<string[]> {
  return (await namesIn(dir)).map((name) => join(dir, name));
}
