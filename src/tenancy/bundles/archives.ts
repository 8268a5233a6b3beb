import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Refusal } from '../../../machines/refusals.ts';
import { DiskFault } from '../../core/errors.rules.ts';
import { digestOf } from '../../core/files.ts';
import type { TenancySettings } from '../config/configKeys.ts';
import { ApiError } from '../core/apiError.rules.ts';
import type { AuditDependencies } from '../core/audit.ts';
import type { LogLine } from '../core/log.ts';
import { type BundleStorage, storageError } from '../peers/bundleStorage.ts';
import { announceArchive, type BundleInsertion, holdArchive, insertBundle } from '../store/bundles.ts';
import type { BundleRow } from '../store/database.ts';
import type { Store } from '../store/openStore.ts';
import type { Range } from './bundle.rules.ts';

/** Dependencies for storing, reading and checking archives of bundles. */
export interface ArchiveDependencies extends AuditDependencies {
  readonly bundles: BundleStorage;
  readonly settings: TenancySettings;
  readonly log: LogLine;
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
