import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { failure } from '../../machines/fault.ts';
import type { Sha } from '../../machines/words.ts';
import { parseRecord, type ReleaseRecord } from '../rules/record.ts';
import { chmod, lstat, mkdir, readdir, readText, readlink, stat } from './atOnce.ts';
import {
  diskFault,
  isENOENT,
  removeDurably,
  renameDurably,
  symlinkDurably,
  sweepTemporaries,
  syncTree,
  writeAllDurably,
  writeDurably,
} from './files.ts';

/** What a release has besides the files of its bundle. */
export interface OwnFiles {
  env: string;
  override: string;
  record: ReleaseRecord;
}

/** Name of the generated compose file in a release. */
export const OVERRIDE_FILE = '.deployd.override.yaml';

const ENV_FILE = '.env';
const RECORD_FILE = '.deployd.json';

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
export class Releases {
  readonly #stateDir: string;
  readonly #home: string;
  readonly #current: string;

  constructor(stateDir: string, home: string) {
    this.#stateDir = stateDir;
    this.#home = home;
    this.#current = join(home, 'current');
  }

  /** Directory of a release, whether it exists or not. */
  pathOf(sha: Sha): string {
    return join(this.#home, 'releases', digest(sha));
  }

  /** File of a downloaded bundle. */
  bundleOf(sha: Sha): string {
    return join(this.#home, 'bundles', digest(sha));
  }

  /** File of a bundle whose download has not ended. */
  partOf(sha: Sha): string {
    return `${this.bundleOf(sha)}.part`;
  }

  /** Directory to unpack a bundle into; to be made by whoever fills it. */
  stagingOf(sha: Sha): string {
    return join(this.#home, 'staging', digest(sha));
  }

  /** All releases, in no order. */
  async list(): Promise<Sha[]> {
    return (await namesIn(join(this.#home, 'releases'))).filter(isDigest);
  }

  /** All releases, the one rendered last first. */
  async listByAge(): Promise<Sha[]> {
    const aged = (await this.list()).map(async (sha) => ({ sha, renderedMs: await this.#renderedAt(sha) }));
    return (await Promise.all(aged)).toSorted((a, b) => b.renderedMs - a.renderedMs).map(({ sha }) => sha);
  }

  async exists(sha: Sha): Promise<boolean> {
    return lstat(this.pathOf(sha)).then(
      (found) => found.isDirectory(),
      () => false,
    );
  }

  /** True when a release has its record and its `.env`, so that it can be brought up again. */
  async isWhole(sha: Sha): Promise<boolean> {
    return (await this.hasEnv(sha)) && (await this.readRecord(sha)) !== null;
  }

  async hasEnv(sha: Sha): Promise<boolean> {
    return lstat(this.#envOf(sha)).then(
      () => true,
      () => false,
    );
  }

  /** The release in force, null without one. Throws `CURRENT_FOREIGN` for a `current` that this agent did not make. */
  async currentSha(): Promise<Sha | null> {
    const target = await readlink(this.#current).catch((error: unknown) => {
      if (isENOENT(error)) return null;
      throw this.#foreign();
    });
    if (target === null) return null;
    const sha = target.slice(target.lastIndexOf('/') + 1);
    if (!isDigest(sha) || ![linkTo(sha), this.pathOf(sha)].includes(target)) throw this.#foreign();
    return sha;
  }

  /** Puts a release in force, in one step for every reader. Throws `DISK_WRITE_FAILED`. */
  async setCurrent(sha: Sha): Promise<void> {
    await symlinkDurably(linkTo(digest(sha)), this.#current);
  }

  async removeCurrent(): Promise<void> {
    await removeDurably(this.#current);
  }

  /** Moves what was unpacked in staging to its release; a release that exists already is kept. Throws `DISK_WRITE_FAILED`. */
  async adopt(sha: Sha): Promise<void> {
    const staging = this.stagingOf(sha);
    if (await this.exists(sha)) return removeTree(staging);
    await syncTree(staging);
    await renameDurably(staging, this.pathOf(sha));
  }

  /**
   * Takes a release away, its secrets first. Files that belong to somebody else (a container wrote them) stay in staging,
   * where every sweep tries again. Throws `DISK_WRITE_FAILED`.
   */
  async remove(sha: Sha): Promise<void> {
    if (!(await this.exists(sha))) return;
    await this.stripEnv(sha);
    const gone = `${this.stagingOf(sha)}.${randomUUID()}`;
    await renameDurably(this.pathOf(sha), gone);
    await rm(gone, { recursive: true, force: true }).catch(() => undefined);
  }

  /** Writes the agent's own files into a release, the record last: with it the release is whole. Throws `DISK_WRITE_FAILED`. */
  async complete(sha: Sha, { env, override, record }: OwnFiles): Promise<void> {
    const own = { [ENV_FILE]: env, [OVERRIDE_FILE]: override, [RECORD_FILE]: textOf(record) };
    await writeAllDurably(this.pathOf(sha), own, 0o600);
  }

  async readEnv(sha: Sha): Promise<string | null> {
    return readIfThere(this.#envOf(sha));
  }

  async stripEnv(sha: Sha): Promise<void> {
    await removeDurably(this.#envOf(sha));
  }

  async writeRecord(sha: Sha, record: ReleaseRecord): Promise<void> {
    await writeDurably(this.#recordOf(sha), textOf(record), 0o600);
  }

  /** What a release remembers about itself, null when it was never rendered or the record is damaged. */
  async readRecord(sha: Sha): Promise<ReleaseRecord | null> {
    const record = parseRecord((await readIfThere(this.#recordOf(sha))) ?? '');
    return record?.sha === sha ? record : null;
  }

  /**
   * Removes what dead ticks left: staging, half-written files, and every bundle but that of `kept`.
   * Tells each path that could not be removed. Throws `DISK_WRITE_FAILED`.
   */
  async sweep(kept: Sha | null): Promise<string[]> {
    const releases = (await this.list()).map((sha) => this.pathOf(sha));
    for (const dir of [this.#stateDir, this.#home, ...releases]) await sweepTemporaries(dir);
    const own = kept === null ? [] : [this.bundleOf(kept), this.partOf(kept)];
    const bundles = await pathsIn(join(this.#home, 'bundles'));
    const leftovers = await pathsIn(join(this.#home, 'staging'));
    const stuck: string[] = [];
    for (const path of [...leftovers, ...bundles.filter((bundle) => !own.includes(bundle))]) {
      await rm(path, { recursive: true, force: true }).catch(() => stuck.push(path));
    }
    return stuck;
  }

  /** Milliseconds since the epoch; the record's time, since stripping `.env` touches the directory's. */
  async #renderedAt(sha: Sha): Promise<number> {
    const found = await stat(this.#recordOf(sha)).catch(() => lstat(this.pathOf(sha)));
    return found.mtimeMs;
  }

  #envOf(sha: Sha): string {
    return join(this.pathOf(sha), ENV_FILE);
  }

  #recordOf(sha: Sha): string {
    return join(this.pathOf(sha), RECORD_FILE);
  }

  #foreign() {
    return failure('CURRENT_FOREIGN', `${this.#current} is not a link to one of the agent's releases; move it away`);
  }
}

function textOf(record: ReleaseRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`;
}

/** Relative, so that the state directory can be moved as a whole. */
function linkTo(sha: Sha): string {
  return `releases/${sha}`;
}

/** The digest itself; anything else would be a bug of the caller. */
function digest(sha: Sha): Sha {
  if (!isDigest(sha)) throw new TypeError('not a sha256 digest');
  return sha;
}

function isDigest(text: string): boolean {
  return /^[0-9a-f]{64}$/.test(text);
}

async function removeTree(dir: string): Promise<void> {
  return rm(dir, { recursive: true, force: true }).catch((error: unknown) => {
    throw diskFault('remove', dir, error);
  });
}

async function namesIn(dir: string): Promise<string[]> {
  return readdir(dir).catch((error: unknown) => {
    throw diskFault('read', dir, error);
  });
}

async function pathsIn(dir: string): Promise<string[]> {
  return (await namesIn(dir)).map((name) => join(dir, name));
}

async function readIfThere(path: string): Promise<string | null> {
  return readText(path).catch((error: unknown) => {
    if (isENOENT(error)) return null;
    throw diskFault('read', path, error);
  });
}
