import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Refusal } from '../../../machines/refusals.ts';
import type { CheckInRequest } from '../../api/checkIn.rules.ts';
import { DiskFault } from '../../core/errors.rules.ts';
import { digestOf } from '../../core/files.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { ApiError } from '../core/apiError.rules.ts';
import type { AuditDependencies } from '../core/audit.ts';
import type { LogLine } from '../core/log.ts';
import { type BundleStorage, storageError } from '../peers/bundleStorage.ts';
import { listCheckIns } from '../store/agents.ts';
import {
  announceArchive,
  type BundleInsertion,
  findUnknownDigests,
  holdArchive,
  insertBundle,
} from '../store/bundles.ts';
import type { BundleRow } from '../store/database.ts';
import { findEnv, raiseSequences } from '../store/envs.ts';
import type { Store } from '../store/openStore.ts';
import type { RunArchiveTask } from './archiveWorkers.ts';
import type { Range } from './bundle.rules.ts';

/** Dependencies for storing, reading and checking archives of bundles. */
export interface ArchiveDependencies extends AuditDependencies {
  readonly bundles: BundleStorage;
  readonly settings: TenancySettings;
  readonly log: LogLine;
  /** Works on the content of archives outside the event loop. */
  readonly runArchiveTask: RunArchiveTask;
}

/**
 * Puts an archive into the storage, and removes it again if no bundle is created from it. Throws 503 `ARCHIVE_BUSY`
 * while the archive is being removed, and PeerErrors.
 */
export async function storeArchive(
  { store, bundles, clock }: ArchiveDependencies,
  { sha256, file }: { sha256: string; file: string },
): Promise<void> {
  if (!(await announceArchive(store, sha256, clock()))) throw archiveBusy();
  await bundles.store(sha256, file);
}

/**
 * Adds the bundle of a stored archive in a transaction; throws 503 `ARCHIVE_BUSY` if the archive was removed meanwhile.
 */
export async function insertStoredBundle(work: Store, row: BundleRow, isAdopted = false): Promise<BundleInsertion> {
  const insertion = await insertBundle(work, row, isAdopted);
  if (!(await holdArchive(work, row.sha256))) throw archiveBusy();
  return insertion;
}

function archiveBusy(): ApiError {
  const message = 'an archive of this digest is being removed; try again';
  return new ApiError({ status: 503, code: 'ARCHIVE_BUSY', message, retryAfterS: 5 });
}

/** Fetches an archive from the storage into a new file and returns its size; throws 503 `BUNDLE_MISSING` or `BUNDLE_DAMAGED`, and PeerErrors. */
export async function fetchArchive(
  deps: ArchiveDependencies,
  { sha256, file, signal }: { sha256: string; file: string; signal: AbortSignal },
): Promise<number> {
  await copy(await openArchive(deps, sha256), file, signal);
  if ((await digestOf(file, signal)) === sha256) return (await stat(file)).size;
  deps.log('error', `the bundle storage returns bytes that do not match ${sha256}`);
  throw unusableArchive('BUNDLE_DAMAGED', 'the archive of the bundle is damaged');
}

/** Copies bytes into a file. A stream that breaks is an error of the storage; a failed write is not. */
async function copy(bytes: Readable, file: string, signal: AbortSignal): Promise<void> {
  const written = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  let isBrokenOff = false;
  bytes.once('error', () => (isBrokenOff = written.errored === null && !signal.aborted));
  await pipeline(bytes, written, { signal }).catch((error: unknown) => {
    const { code, message } = error as NodeJS.ErrnoException;
    throw isBrokenOff ? storageError('read', code ?? message) : error;
  });
}

/**
 * Returns the bytes of a bundle's archive, or a range of them. Throws 503 if the archive is missing from the storage.
 */
export async function openArchive(deps: ArchiveDependencies, sha256: string, range?: Range): Promise<Readable> {
  const bytes = await deps.bundles.open(sha256, range);
  if (bytes !== null) return bytes;
  deps.log('error', `the bundle storage has no archive ${sha256}, which the store knows`);
  throw unusableArchive('BUNDLE_MISSING', 'the archive of the bundle is missing');
}

/** The 503 error for a stored archive that is missing or damaged. */
function unusableArchive(code: 'BUNDLE_MISSING' | 'BUNDLE_DAMAGED', message: string): ApiError {
  return new ApiError({ status: 503, code, message, retryAfterS: 60 });
}

/** Directory of bundles in progress; old entries are leftovers. */
export function incomingDirectory(stateDir: string): string {
  return join(stateDir, 'incoming');
}

/**
 * Passes an empty directory (0700) below the state directory to `use`, and always removes it afterwards. Throws 503
 * `DISK_FULL` if it cannot be written.
 */
export async function withScratchDirectory<Result>(
  { settings, log }: ArchiveDependencies,
  use: (dir: string) => Promise<Result>,
): Promise<Result> {
  const incoming = incomingDirectory(settings.state_dir);
  let dir: string | undefined;
  try {
    await mkdir(incoming, { recursive: true, mode: 0o700 });
    dir = await mkdtemp(join(incoming, 'bundle-'));
    return await use(dir);
  } catch (error) {
    if (!isDiskError(error)) throw error;
    log('warn', `a bundle cannot be written: ${error.message}`);
    const message = 'the disk of the service is full, or cannot be written';
    throw new ApiError({ status: 503, code: 'DISK_FULL', message, retryAfterS: 60 });
  } finally {
    if (dir !== undefined) await rm(dir, { recursive: true, force: true });
  }
}

/** True for a failed write to a file, whichever layer reported it. */
function isDiskError(error: unknown): error is Error {
  if (error instanceof DiskFault) return error.code !== null;
  const { code } = Object(error) as { code?: unknown };
  return code === 'ENOSPC' || code === 'EDQUOT';
}

/** The 422 error for a bundle that cannot be used, with the agent's reasons; `env` is for the audit log. */
export function refusedBundle(refusals: Refusal[], env?: string): ApiError {
  const [first] = refusals;
  const { code, detail } = first ?? { code: 'MANIFEST_INVALID', detail: '' };
  return new ApiError({ status: 422, code, message: detail, refusals, ...(env !== undefined && { env }) });
}

/** Number of check-ins that are read at once. */
const PAGE_SIZE = 500;

/** Fields of the manifest of an archive. */
interface Identity {
  env: string;
  name: string;
  version: string;
  sequence: number;
}

/** An archive in the storage of which the store knows nothing: it was pushed after the backup that was restored. */
export interface UnknownArchive {
  sha256: string;
  storedAt: number;
  identity: Identity | null;
}

/** Identities of archives by digest, whose content never changes. */
const identities = new WeakMap<BundleStorage, Map<string, Identity | null>>();

/** The archives of which the store knows nothing, newest first. Throws PeerErrors. */
export async function listUnknownArchives(deps: ArchiveDependencies, signal: AbortSignal): Promise<UnknownArchive[]> {
  const stored = new Map((await deps.bundles.list()).map(({ sha256, storedAt }) => [sha256, storedAt]));
  const known = identities.get(deps.bundles) ?? new Map<string, Identity | null>();
  identities.set(deps.bundles, known);
  const unknown: UnknownArchive[] = [];
  for (const sha256 of await findUnknownDigests(deps.store, [...stored.keys()])) {
    const identity = known.get(sha256) ?? (await readIdentity(deps, sha256, signal));
    known.set(sha256, identity);
    unknown.push({ sha256, storedAt: stored.get(sha256) ?? 0, identity });
  }
  return unknown.toSorted((one, other) => other.storedAt - one.storedAt || (one.sha256 < other.sha256 ? -1 : 1));
}

function readIdentity(deps: ArchiveDependencies, sha256: string, signal: AbortSignal): Promise<Identity | null> {
  return withScratchDirectory(deps, async (scratch) => {
    const [file, dir] = [join(scratch, 'archive'), join(scratch, 'files')];
    try {
      await fetchArchive(deps, { sha256, file, signal });
    } catch (error) {
      // A damaged archive, or one that was just removed; a storage that cannot be used is a PeerError.
      if (error instanceof ApiError) return null;
      throw error;
    }
    await mkdir(dir, { mode: 0o700 });
    const bundle = await deps.runArchiveTask('read', { file, sha256, into: dir, limits: deps.settings.limits }, signal);
    if ('refusal' in bundle) return null;
    const { env, name, version, sequence } = bundle.manifest;
    return { env, name, version, sequence };
  });
}

/**
 * Raises the sequences of a held environment above the sequences of stored archives and of bundles that its hosts have
 * applied. A host is trusted only up to the sequences that were skipped after the restore. Throws PeerErrors.
 */
export async function raiseShownSequences(deps: ArchiveDependencies, env: string, signal: AbortSignal): Promise<void> {
  const row = await findEnv(deps.store, env);
  if (row === null || row.held_since === null) return;
  const archives = await listUnknownArchives(deps, signal);
  const pushed = archives.flatMap(({ identity }) => (identity?.env === env ? [identity.sequence] : []));
  const applied = (await appliedSequences(deps, env)).filter((sequence) => sequence <= row.last_sequence);
  const shown = [...pushed, ...applied].reduce((highest, sequence) => Math.max(highest, sequence), 0);
  if (shown > (row.pushed_sequence ?? 0)) await raiseInStore(deps, env, shown);
}

function raiseInStore({ store }: ArchiveDependencies, env: string, sequence: number): Promise<void> {
  return store.transaction().execute((work) => raiseSequences(work, env, sequence));
}

/** The highest sequences that the hosts of an environment have applied, as they report. */
async function appliedSequences({ store }: ArchiveDependencies, env: string): Promise<number[]> {
  const sequences: number[] = [];
  for (let after: string | null = null; ;) {
    const page = await listCheckIns(store, { env, after, limit: PAGE_SIZE });
    for (const { check_in } of page) {
      const { highest_sequence } = check_in === null ? {} : (JSON.parse(check_in) as Partial<CheckInRequest>);
      if (highest_sequence !== undefined) sequences.push(highest_sequence);
    }
    after = page.at(-1)?.id ?? null;
    if (page.length < PAGE_SIZE) return sequences;
  }
}
