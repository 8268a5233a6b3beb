import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { failedFault, Fault } from '../../../machines/fault.ts';
import type { Sha } from '../../../machines/types.ts';
import type { Inventory } from '../../bundle/archive/inventory.rules.ts';
import { monotonicMs } from '../../core/clock.ts';
import { diskFault, isENOENT, isNotALink } from '../../core/errors.rules.ts';
import { isDigest, requireDigest } from '../../core/files.ts';
import { removeTree } from '../../core/treeRemoval.ts';
import {
  removeDurably,
  removeStaleTemporaries,
  renameDurably,
  symlinkDurably,
  syncTree,
} from '../state/durableFiles.ts';
import { chmod, mkdir, readdir, readdirIfExists, readlink, statIfExists } from '../state/fileSystem.ts';
import { GeneratedFiles, OVERRIDE_FILE, writeStagedInventory } from './generatedFiles.ts';
import { findWrittenFiles } from './releaseRepair.ts';
import type { ComposeRelease } from '../engine/compose.ts';
import type { ReleaseRecord } from './record.rules.ts';
import { parseEnvFile } from '../secrets/envFile.rules.ts';
import type { Vault } from '../secrets/vault.ts';
import type { Credentials } from '../token/credentials.ts';

/** Time a tick spends on removing what containers wrote; the next tick removes the rest. */
const removalTimeoutMs = 3_000;

/**
 * Opens the releases of one env below the state directory; creates their directories (0700). Throws
 * `DISK_WRITE_FAILED`.
 */
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
 * `releases/<sha>`, the link `current`, cached bundles and the staging directory of one environment.
 *
 * - A release exists completely or not at all: it is moved in from staging, and out to staging before it is deleted.
 * - Paths are built only from the environment's name and digests.
 */
export class Releases extends GeneratedFiles {
  readonly #stateDir: string;
  readonly #home: string;
  /** The link to the current release. */
  readonly current: CurrentLink;

  constructor(stateDir: string, home: string) {
    super();
    this.#stateDir = stateDir;
    this.#home = home;
    this.current = new CurrentLink(home);
  }

  /** Directory of a release, whether it exists or not. */
  override pathOf(sha: Sha): string {
    return join(this.#home, 'releases', requireDigest(sha));
  }

  /** File of a downloaded bundle. */
  bundleOf(sha: Sha): string {
    return join(this.#home, 'bundles', requireDigest(sha));
  }

  /** File of a bundle whose download is incomplete. */
  partialFileOf(sha: Sha): string {
    return `${this.bundleOf(sha)}.part`;
  }

  /** Directory to unpack a bundle into; the caller creates it. */
  stagingOf(sha: Sha): string {
    return join(this.#home, 'staging', requireDigest(sha));
  }

  /** All releases, in no order. */
  async list(): Promise<Sha[]> {
    return (await namesIn(join(this.#home, 'releases'))).filter(isDigest);
  }

  /** All releases; none on a host without their directory. */
  async listIfExists(): Promise<Sha[]> {
    return (await readdirIfExists(join(this.#home, 'releases'))).filter(isDigest);
  }

  /** All releases, the most recently rendered first. */
  async listByAge(): Promise<Sha[]> {
    const aged = (await this.list()).map(async (sha) => ({ sha, renderedMs: await this.renderedAtMs(sha) }));
    return (await Promise.all(aged)).toSorted((a, b) => b.renderedMs - a.renderedMs).map(({ sha }) => sha);
  }

  async exists(sha: Sha): Promise<boolean> {
    return (await statIfExists(this.pathOf(sha)))?.isDirectory() ?? false;
  }

  /**
   * Moves an unpacked bundle from staging to the releases, where it must not exist yet. Throws `DISK_WRITE_FAILED`, or
   * `stopped`.
   */
  async adopt(sha: Sha, inventory: Inventory, signal: AbortSignal): Promise<void> {
    const staging = this.stagingOf(sha);
    await writeStagedInventory(staging, inventory);
    await syncTree(staging, signal);
    await renameDurably(staging, this.pathOf(sha));
  }

  /** Removes an unpacked bundle within the time limit; `removeLeftovers` removes the rest. */
  async clearStaging(sha: Sha, signal: AbortSignal): Promise<void> {
    await removeTree(this.stagingOf(sha), { signal, untilMs: monotonicMs() + removalTimeoutMs });
  }

  /**
   * Removes a release, its secrets first. Files that cannot be removed now (very many files of a container, files of
   * another owner) stay in staging, where `removeLeftovers` tries again. Throws `DISK_WRITE_FAILED`.
   */
  async remove(sha: Sha, signal: AbortSignal): Promise<void> {
    if (!(await this.exists(sha))) return;
    await this.stripEnv(sha);
    const removed = `${this.stagingOf(sha)}.${randomUUID()}`;
    await renameDurably(this.pathOf(sha), removed);
    await removeTree(removed, { signal, untilMs: monotonicMs() + removalTimeoutMs });
  }

  /** At most `limit` paths below a release that neither its bundle nor the agent wrote, sorted; see `findWrittenFiles`. */
  async writtenFiles(sha: Sha, limit: number, signal: AbortSignal): Promise<string[]> {
    return findWrittenFiles({ dir: this.pathOf(sha), inventory: await this.readInventory(sha), limit }, signal);
  }

  /**
   * Removes leftovers of interrupted ticks: staging, temporary files, and every bundle except `wanted` and the bundles
   * of releases, which may be needed to repair them. Returns the paths that cannot be removed; a long removal is
   * continued by the next call. Throws `DISK_WRITE_FAILED`.
   */
  async removeLeftovers(wanted: Sha | null, signal: AbortSignal): Promise<string[]> {
    const releases = await this.list();
    const dirs = releases.map((sha) => this.pathOf(sha));
    for (const dir of [this.#stateDir, this.#home, ...dirs]) await removeStaleTemporaries(dir);
    const wantedFiles = wanted === null ? [] : [this.bundleOf(wanted), this.partialFileOf(wanted)];
    const kept = new Set([...wantedFiles, ...releases.map((sha) => this.bundleOf(sha))]);
    const bundles = await pathsIn(join(this.#home, 'bundles'));
    const leftovers = await pathsIn(join(this.#home, 'staging'));
    const untilMs = monotonicMs() + removalTimeoutMs;
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

/** The symbolic link `current` of one env, in its directory `home`. */
export class CurrentLink {
  readonly #home: string;
  readonly #path: string;

  constructor(home: string) {
    this.#home = home;
    this.#path = join(home, 'current');
  }

  /**
   * The release that `current` points to, null without a link. Throws `CURRENT_FOREIGN` for a `current` that the agent
   * did not create.
   */
  async sha(): Promise<Sha | null> {
    const { sha, isForeign } = await this.inspect();
    if (isForeign) throw this.#foreign();
    return sha;
  }

  /** Points `current` at a release, atomically for every reader. Throws `DISK_WRITE_FAILED`. */
  async set(sha: Sha): Promise<void> {
    await symlinkDurably(linkTargetOf(requireDigest(sha)), this.#path);
  }

  /**
   * The release that `current` points to, even if that release is absent; `isForeign` for a `current` that the agent
   * did not create.
   */
  async inspect(): Promise<{ sha: Sha | null; isForeign: boolean }> {
    const target = await this.#target();
    if (target === null) return { sha: null, isForeign: false };
    const sha = target.slice(target.lastIndexOf('/') + 1);
    const isOwn = isDigest(sha) && [linkTargetOf(sha), join(this.#home, linkTargetOf(sha))].includes(target);
    return isOwn ? { sha, isForeign: false } : { sha: null, isForeign: true };
  }

  /** Renames a foreign `current` and returns its new name. Throws `DISK_WRITE_FAILED`. */
  async setAside(): Promise<string> {
    const newName = `current.foreign-${new Date().toISOString().replaceAll(':', '-')}`;
    await renameDurably(this.#path, join(this.#home, newName));
    return newName;
  }

  async remove(): Promise<void> {
    await removeDurably(this.#path);
  }

  /** Null without a link, empty for anything other than a link. Throws any other error of the disk. */
  async #target(): Promise<string | null> {
    return readlink(this.#path).catch((error: unknown) => {
      if (isENOENT(error)) return null;
      if (isNotALink(error)) return '';
      throw diskFault('read', this.#path, error);
    });
  }

  #foreign() {
    return failedFault('CURRENT_FOREIGN', `${this.#path} is not a link to one of the agent's releases; move it away`);
  }
}

/** Relative, so that the state directory can be moved. */
function linkTargetOf(sha: Sha): string {
  return `releases/${sha}`;
}

/** The fault of a release that cannot run again as before. */
export function incompleteFault(what: string): Fault {
  return new Fault('failed', `failed: ${what}`, { code: 'RELEASE_INCOMPLETE' });
}

/**
 * Arguments of compose for a release on disk: its real path, its compose files, the override with the content labels and
 * the file that hides hooks, its profiles.
 */
export async function composeReleaseOf(deps: { releases: Releases }, sha: string): Promise<ComposeRelease> {
  const { compose, profiles = [], hooks = {} } = await completeRecord(deps, sha);
  const hiding = await deps.releases.hideHooks(sha, hooks);
  return { dir: deps.releases.pathOf(sha), files: [...compose, OVERRIDE_FILE, ...hiding], profiles };
}

/** The record of a release. Throws `RELEASE_INCOMPLETE` without one. */
export async function completeRecord({ releases }: { releases: Releases }, sha: string): Promise<ReleaseRecord> {
  const record = await releases.readRecord(sha);
  if (record === null) throw incompleteFault(`release ${sha} is incomplete`);
  return record;
}

/** Where the secrets of releases are, and who redacts them. */
interface EnvReader {
  readonly releases: Releases;
  readonly vault: Vault;
}

/** The locations of all secrets of a host. */
interface HostSecrets extends EnvReader {
  readonly credentials: Credentials;
}

/** Registers the secrets in a release's `.env` for redaction, before compose output is read. False when `.env` is unreadable. */
export async function registerEnvForRedaction({ releases, vault }: EnvReader, sha: string): Promise<boolean> {
  return registerValuesForRedaction({ releases, vault }, sha, await releases.readEnv(sha));
}

/** The same for the text of an `.env` that a release has or had. */
async function registerValuesForRedaction(
  { releases, vault }: EnvReader,
  sha: string,
  env: string | null,
): Promise<boolean> {
  const values = parseEnvFile(env ?? '');
  if (values === null) return false;
  const { variables = {} } = (await releases.readRecord(sha)) ?? {};
  const secrets = [...values].filter(([name]) => !name.startsWith('DEPLOYD_') && !Object.hasOwn(variables, name));
  for (const [, value] of secrets) vault.registerForRedaction(value);
  return true;
}

/**
 * Registers the token, and the values of every release on disk, for redaction: the output of a container may contain
 * any of them. Throws a fault if one of these cannot be read: then nothing may be shown.
 */
export async function registerHostSecrets({ credentials, releases, vault }: HostSecrets): Promise<void> {
  const token = await credentials.readToken();
  if (token !== null) vault.registerForRedaction(token);
  for (const sha of await releases.listIfExists()) {
    for (const env of [await releases.readEnv(sha), await releases.readBackedUpEnv(sha)])
      if (env !== null && !(await registerValuesForRedaction({ releases, vault }, sha, env))) throw unreadable(sha);
  }
}

function unreadable(sha: Sha): Error {
  return failedFault(
    'RELEASE_INCOMPLETE',
    `the .env of release ${sha} is not the agent's: what is secret is not known`,
  );
}
