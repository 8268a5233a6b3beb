import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { failure } from '../../machines/fault.ts';
import type { Sha } from '../../machines/words.ts';
import { parseGranted, type Granted } from '../rules/created/granted.ts';
import { parseInventory, type Inventory } from '../rules/inventory.ts';
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
  writeLazily,
} from './files.ts';
import { dropLastGood, keepLastGood, restoreLastGood } from './lastGood.ts';
import { removeTree } from './removal.ts';

/** So long a tick removes what containers have written, before it leaves the rest to the next one. */
const patienceMs = 3_000;

/** What a release has besides the files of its bundle. */
export interface OwnFiles {
  env: string;
  override: string;
  /** Null where compose's model was not judged. */
  granted: Granted | null;
  record: ReleaseRecord;
}

/** Name of the generated compose file in a release. */
export const OVERRIDE_FILE = '.deployd.override.yaml';

const ENV_FILE = '.env';
const RECORD_FILE = '.deployd.json';
const GRANTED_FILE = '.deployd.granted.json';
const INVENTORY_FILE = '.deployd.files.json';

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

  /** The release that `current` names, null without one. Throws `CURRENT_FOREIGN` for a `current` that this agent did not make. */
  async currentSha(): Promise<Sha | null> {
    const { sha, isForeign } = await this.lookAtCurrent();
    if (isForeign) throw this.#foreign();
    return sha;
  }

  /** Puts a release in force, in one step for every reader. Throws `DISK_WRITE_FAILED`. */
  async setCurrent(sha: Sha): Promise<void> {
    await symlinkDurably(linkTo(digest(sha)), this.#current);
  }

  /** The release that `current` names, whether that is there or not; foreign is what this agent did not make. */
  async lookAtCurrent(): Promise<{ sha: Sha | null; isForeign: boolean }> {
    const target = await readlink(this.#current).catch((error: unknown) => (isENOENT(error) ? null : ''));
    if (target === null) return { sha: null, isForeign: false };
    const sha = target.slice(target.lastIndexOf('/') + 1);
    const isOwn = isDigest(sha) && [linkTo(sha), this.pathOf(sha)].includes(target);
    return isOwn ? { sha, isForeign: false } : { sha: null, isForeign: true };
  }

  /** Moves what stands in the place of `current` aside, and tells its new name. Throws `DISK_WRITE_FAILED`. */
  async setAsideCurrent(): Promise<string> {
    const kept = `current.foreign-${new Date().toISOString().replaceAll(':', '-')}`;
    await renameDurably(this.#current, join(this.#home, kept));
    return kept;
  }

  async removeCurrent(): Promise<void> {
    await removeDurably(this.#current);
  }

  /** Makes what was unpacked in staging a release, where there is none yet. Throws `DISK_WRITE_FAILED`. */
  async adopt(sha: Sha, inventory: Inventory): Promise<void> {
    const staging = this.stagingOf(sha);
    await writeLazily(join(staging, INVENTORY_FILE), textOf(inventory), 0o600);
    await syncTree(staging);
    await renameDurably(staging, this.pathOf(sha));
  }

  /** What a release knows of its own files; null when it was made by an older agent, or the list is damaged. */
  async readInventory(sha: Sha): Promise<Inventory | null> {
    const text = await readText(join(this.pathOf(sha), INVENTORY_FILE)).catch(() => '');
    return parseInventory(text, sha);
  }

  async writeInventory(sha: Sha, inventory: Inventory): Promise<void> {
    await writeDurably(join(this.pathOf(sha), INVENTORY_FILE), textOf(inventory), 0o600);
  }

  async readOverride(sha: Sha): Promise<string | null> {
    return readText(this.#overrideOf(sha)).catch(() => null);
  }

  async writeOverride(sha: Sha, override: string): Promise<void> {
    await writeDurably(this.#overrideOf(sha), override, 0o600);
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
    await removeTree(gone, { signal, untilMs: Date.now() + patienceMs });
  }

  /** Writes the agent's own files into a release, the record last: with it the release is whole. Throws `DISK_WRITE_FAILED`. */
  async complete(sha: Sha, { env, override, granted, record }: OwnFiles): Promise<void> {
    const judged = granted && { [GRANTED_FILE]: textOf(granted) };
    const own = { [ENV_FILE]: env, [OVERRIDE_FILE]: override, ...judged, [RECORD_FILE]: textOf(record) };
    await writeAllDurably(this.pathOf(sha), own, 0o600);
  }

  /** Keeps the agent's own files as they last served, until they are restored or dropped. Throws `DISK_WRITE_FAILED`. */
  async keepLastGood(sha: Sha): Promise<void> {
    await keepLastGood(this.pathOf(sha), { needed: [ENV_FILE, OVERRIDE_FILE, RECORD_FILE], more: [GRANTED_FILE] });
  }

  /** Gives a release back its own files that last served, where they were kept. Throws `DISK_WRITE_FAILED`. */
  async restoreLastGood(sha: Sha): Promise<void> {
    await restoreLastGood(this.pathOf(sha));
  }

  async dropLastGood(sha: Sha): Promise<void> {
    await dropLastGood(this.pathOf(sha));
  }

  async readEnv(sha: Sha): Promise<string | null> {
    return readIfThere(this.#envOf(sha));
  }

  /** Takes a release's secrets away, those of its last good `.env` too. */
  async stripEnv(sha: Sha): Promise<void> {
    await this.dropLastGood(sha);
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

  /** What the judged model of a release gives its services, null where that was never written or is damaged. */
  async readGranted(sha: Sha): Promise<Granted | null> {
    return parseGranted((await readIfThere(this.#grantedOf(sha))) ?? '');
  }

  async writeGranted(sha: Sha, granted: Granted): Promise<void> {
    await writeDurably(this.#grantedOf(sha), textOf(granted), 0o600);
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
    const untilMs = Date.now() + patienceMs;
    const stuck: string[] = [];
    for (const path of [...leftovers, ...bundles.filter((bundle) => !kept.has(bundle))])
      if ((await removeTree(path, { signal, untilMs })) === 'stuck') stuck.push(path);
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

  #overrideOf(sha: Sha): string {
    return join(this.pathOf(sha), OVERRIDE_FILE);
  }

  #recordOf(sha: Sha): string {
    return join(this.pathOf(sha), RECORD_FILE);
  }

  #grantedOf(sha: Sha): string {
    return join(this.pathOf(sha), GRANTED_FILE);
  }

  #foreign() {
    return failure('CURRENT_FOREIGN', `${this.#current} is not a link to one of the agent's releases; move it away`);
  }
}

function textOf(content: ReleaseRecord | Granted | Inventory): string {
  return `${JSON.stringify(content, null, 2)}\n`;
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
