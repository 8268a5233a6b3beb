import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { failedFault, Fault, refusedFault, stoppedFault } from '../../../machines/fault.ts';
import { refusalWith } from '../../../machines/refusals.ts';
import type { Sha } from '../../../machines/types.ts';
import { limitCure, limitDetails } from '../../bundle/archive/archiveEntries.rules.ts';
import { withDiskFault } from '../../core/errors.rules.ts';
import { requireRegularFile } from '../../core/files.ts';
import { isLoopback } from '../../core/http.rules.ts';
import type { Settings } from '../config/configKeys.ts';
import { removeDurably, renameDurably } from '../state/durableFiles.ts';
import type { StreamedReply } from './httpClient.ts';
import { type TenancyContext, tenancyHeaders } from './tenancy.ts';

/**
 * One bundle to download: `partialFile` collects its bytes, across ticks too, and becomes `file` when their digest is
 * `sha`.
 */
interface BundleRequest {
  sha: Sha;
  /** As the check-in announced it. */
  sizeBytes: number;
  partialFile: string;
  file: string;
  /** Called with the number of bytes downloaded so far. */
  onProgress?: (bytes: number) => void;
}

export type Download = (request: BundleRequest, signal: AbortSignal) => Promise<void>;

interface DownloaderOptions extends TenancyContext {
  settings: Settings;
}

/** A running download. */
interface RunningDownload extends DownloaderOptions {
  request: BundleRequest;
  bounds: DownloadLimits;
  partialFile: PartialFile;
  signal: AbortSignal;
  /** `download_timeout_s` for all tries together. */
  limit: AbortSignal;
}

/**
 * Downloads bundles durably and verifies their digest (spec §1). An interrupted body is resumed as long as tries bring
 * new bytes; bytes with another digest are refused and removed.
 */
export function createDownload(downloader: DownloaderOptions): Download {
  const { settings } = downloader;
  return async (request, signal) => {
    const bounds = { sizeBytes: request.sizeBytes, limitBytes: settings.limits.bundle_bytes };
    const refusal = validateAnnouncedSize(bounds);
    if (refusal !== null) throw refusal;
    const partialFile = await PartialFile.open(request.partialFile, signal);
    try {
      if (signal.aborted) throw stoppedFault();
      const limit = AbortSignal.timeout(settings.download_timeout_s * 1000);
      await downloadVerified({ ...downloader, request, bounds, partialFile, signal, limit });
      await partialFile.moveTo(request.file);
    } finally {
      await partialFile.close();
    }
  };
}

async function downloadVerified(running: RunningDownload): Promise<void> {
  const { partialFile, request } = running;
  const wasResumed = partialFile.bytes > 0;
  await downloadWithResume(running);
  if (wasResumed && partialFile.digest() !== request.sha) {
    await partialFile.clear();
    await downloadWithResume(running);
  }
  if (partialFile.digest() === request.sha) return;
  await partialFile.remove();
  throw refusedFault([
    { code: 'BUNDLE_DIGEST', detail: `the bundle's sha256 is ${partialFile.digest()}, not ${request.sha}` },
  ]);
}

async function downloadWithResume(running: RunningDownload): Promise<void> {
  const { partialFile, request } = running;
  if (partialFile.bytes > request.sizeBytes) await partialFile.clear();
  let maxReceived = partialFile.bytes;
  let fruitlessTries = 0;
  while (partialFile.bytes === 0 || partialFile.bytes < request.sizeBytes) {
    const result = await downloadOnce(running);
    if (result === 'complete') return;
    fruitlessTries = partialFile.bytes > maxReceived ? 0 : fruitlessTries + 1;
    maxReceived = Math.max(maxReceived, partialFile.bytes);
    if (fruitlessTries > maxFruitlessTries || running.limit.aborted) throw result;
  }
}

/** Result of one response: `complete`, or the fault to throw when no further try helps. */
async function downloadOnce(running: RunningDownload): Promise<'complete' | Fault> {
  const { partialFile, settings } = running;
  const stall = createStallTimer(settings.download_stall_s * 1000);
  try {
    const reply = await followRedirects(running, AbortSignal.any([running.limit, stall.signal]));
    if (reply instanceof Fault) return reply;
    try {
      const action = resumeActionFor(headOf(reply), partialFile.bytes);
      if (action !== 'append') await partialFile.clear();
      if (action === 'restartRequest')
        return failedFault('PROTOCOL_INVALID', `${reply.peerLabel}: bundle: ranges are offered and refused`);
      await appendBody(running, reply, stall.postpone);
      return 'complete';
    } catch (error) {
      if (error instanceof Fault && error.ending === 'offline') return error;
      throw error;
    } finally {
      reply.discard();
    }
  } finally {
    stall.clear();
  }
}

async function appendBody(
  { partialFile, bounds, request }: RunningDownload,
  reply: StreamedReply,
  postponeStall: () => void,
): Promise<void> {
  const declaredExcess = validateReceivedSize(expectedBytes(headOf(reply), partialFile.bytes), bounds);
  if (declaredExcess !== null) throw declaredExcess;
  for await (const chunk of reply.body) {
    const excess = validateReceivedSize(partialFile.bytes + chunk.length, bounds);
    if (excess !== null) throw excess;
    postponeStall();
    await partialFile.append(chunk);
    request.onProgress?.(partialFile.bytes);
  }
}

/**
 * Follows redirects; bearer and trace go only to the origin of the tenancy service. A link that its storage host rejects
 * may have expired: that fault is returned, so that the next try requests a new link.
 */
async function followRedirects(running: RunningDownload, limit: AbortSignal): Promise<StreamedReply | Fault> {
  const { settings, request, http, signal } = running;
  const bundleUrl = new URL(`${settings.tenancy_url}/v1/agent/bundles/${request.sha}`);
  let url = bundleUrl;
  for (let hop = 0; hop <= maxRedirects; hop++) {
    const isOwnOrigin = url.origin === bundleUrl.origin;
    const headers = headersFor(running, isOwnOrigin);
    const call = { peer: 'tenancy', operation: 'bundle', method: 'GET', path: url, headers, signal } as const;
    const streaming = http.stream({ ...call, requestId: running.requestId(), accepts: acceptedStatuses }, limit);
    const reply = await streaming.catch((error: unknown) => {
      if (!isOwnOrigin && error instanceof Fault && error.code === 'PROTOCOL_INVALID') return error;
      throw error;
    });
    if (reply instanceof Fault) return reply;
    if (reply.status < 300 || reply.status === 416) return reply;
    reply.discard();
    url = validateRedirect(reply.headers.location, url);
  }
  throw failedFault('PROTOCOL_INVALID', `bundle: more than ${maxRedirects} redirects`);
}

function headersFor(running: RunningDownload, isOwnOrigin: boolean): Record<string, string> {
  const { partialFile } = running;
  return {
    accept: 'application/octet-stream',
    ...(partialFile.bytes > 0 && { range: `bytes=${partialFile.bytes}-` }),
    ...(isOwnOrigin && tenancyHeaders(running)),
  };
}

function headOf({ peerLabel, status, headers }: StreamedReply) {
  return { peerLabel, status, contentLength: headers['content-length'], contentRange: headers['content-range'] };
}

/** Aborts with the reason STALLED when it is not postponed in time. */
function createStallTimer(timeoutMs: number) {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort('STALLED'), timeoutMs);
  return { signal: controller.signal, postpone: () => void timer.refresh(), clear: () => clearTimeout(timer) };
}

/** Redirects and an unsatisfiable range, which are handled here. */
const acceptedStatuses = [301, 302, 303, 307, 308, 416];
const maxRedirects = 3;
/** Consecutive tries that may bring no new byte. */
const maxFruitlessTries = 2;

/** Bytes that may be queued before `append` waits for the disk. */
const maxQueuedBytes = 262_144;

/** Maximum number of queued chunks; each costs some 280 bytes in addition to its content. */
const maxQueuedChunks = 1024;

/** Bytes between syncs, so that little is left to sync at the end. */
const syncIntervalBytes = 33_554_432;

/**
 * A file being downloaded (0600), and the sha256 of its content:
 * - `bytes` and the digest always refer to the same content; chunks are written while more arrive, and are in the file
 *   before any other operation on it;
 * - a failed write is thrown by a later call, at the latest by `moveTo` or `close`;
 * - it gets its final name only when it is complete and synced, by a synced rename;
 * - `close` keeps the bytes for the next try.
 */
class PartialFile {
  bytes = 0;
  readonly #path: string;
  readonly #file: FileHandle;
  #hash: Hash = createHash('sha256');
  #queue: Buffer[] = [];
  #queuedBytes = 0;
  #writing: Promise<void> | null = null;
  #unsyncedBytes = 0;
  #syncing: Promise<void> = Promise.resolve();

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** Opens or creates the file and digests what an earlier try left in it; an abort ends that early. */
  static async open(path: string, signal: AbortSignal): Promise<PartialFile> {
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
    const flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
    const file = await withDiskFault('write', path, () => open(path, flags, 0o600));
    const partialFile = new PartialFile(path, file);
    await withDiskFault('write', path, async () => {
      requireRegularFile(await file.stat());
      await partialFile.#digestExisting(signal);
    }).catch(async (error: unknown) => {
      await partialFile.close();
      throw error;
    });
    return partialFile;
  }

  async append(chunk: Buffer): Promise<void> {
    this.#hash.update(chunk);
    this.bytes += chunk.length;
    this.#queue.push(chunk);
    this.#queuedBytes += chunk.length;
    this.#writing ??= markHandled(this.#writeQueue());
    if (this.#queuedBytes >= maxQueuedBytes || this.#queue.length >= maxQueuedChunks) await this.#flush();
  }

  async clear(): Promise<void> {
    await this.#flush();
    await withDiskFault('write', this.#path, () => this.#file.truncate(0));
    this.#hash = createHash('sha256');
    this.bytes = 0;
  }

  /** Lower-case hex; more may be appended afterwards. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** Gives the file its final name, durably. */
  async moveTo(path: string): Promise<void> {
    await this.#flush();
    await withDiskFault('write', this.#path, () => this.#file.sync());
    await renameDurably(this.#path, path);
  }

  async remove(): Promise<void> {
    await removeDurably(this.#path);
  }

  async close(): Promise<void> {
    try {
      await this.#flush();
    } finally {
      await withDiskFault('write', this.#path, () => this.#file.close());
    }
  }

  /** Waits until the queue is written and no sync is running. */
  async #flush(): Promise<void> {
    await withDiskFault('write', this.#path, async () => {
      await this.#writing;
      await this.#syncing;
    });
  }

  async #writeQueue(): Promise<void> {
    while (this.#queue.length > 0) {
      const chunks = this.#queue;
      this.#unsyncedBytes += this.#queuedBytes;
      this.#queue = [];
      this.#queuedBytes = 0;
      await this.#file.appendFile(Buffer.concat(chunks));
      if (this.#unsyncedBytes < syncIntervalBytes) continue;
      await this.#syncing;
      this.#unsyncedBytes = 0;
      this.#syncing = markHandled(this.#file.datasync());
    }
    this.#writing = null;
  }

  async #digestExisting(signal: AbortSignal): Promise<void> {
    const buffer = Buffer.alloc(1_048_576);
    for (;;) {
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.bytes);
      if (bytesRead === 0 || signal.aborted) return;
      this.#hash.update(buffer.subarray(0, bytesRead));
      this.bytes += bytesRead;
    }
  }
}

/** Prevents an unhandled rejection: the promise may fail before it is awaited. */
function markHandled(work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  return work;
}

/** Status and headers of the response to a bundle request. */
interface ResponseHead {
  /** The peer as journal lines name it. */
  peerLabel: string;
  status: number;
  contentLength: string | undefined;
  contentRange: string | undefined;
}

/** Upper limits of a download, in bytes: the announced size, and `limits.bundle_bytes`. */
interface DownloadLimits {
  sizeBytes: number;
  limitBytes: number;
}

/**
 * How to continue when `offset` bytes are on disk and the rest was requested. The body is appended or written from the
 * start, or the whole bundle is requested again because the server does not support the range.
 */
function resumeActionFor(
  { peerLabel, status, contentRange }: ResponseHead,
  offset: number,
): 'append' | 'restart' | 'restartRequest' {
  if (status === 200) return 'restart';
  if (offset > 0 && status === 206 && contentRange?.startsWith(`bytes ${offset}-`) === true) return 'append';
  if (offset > 0 && (status === 206 || status === 416)) return 'restartRequest';
  throw failedFault('PROTOCOL_INVALID', `${peerLabel}: bundle answered ${status}`);
}

/** Refuses a bundle whose announced size exceeds the limit; null when it may be downloaded. */
function validateAnnouncedSize({ sizeBytes, limitBytes }: DownloadLimits): Fault | null {
  if (sizeBytes <= limitBytes) return null;
  const fault = { text: limitDetails.bundle_bytes(limitBytes, sizeBytes), cure: limitCure('bundle_bytes') };
  return refusedFault([refusalWith('BUNDLE_UNSAFE', [fault])]);
}

/** Refuses a body that exceeds the limit or the announced size; null while it fits. */
function validateReceivedSize(endBytes: number, { sizeBytes, limitBytes }: DownloadLimits): Fault | null {
  const overLimit = validateAnnouncedSize({ sizeBytes: endBytes, limitBytes });
  if (overLimit !== null || endBytes <= sizeBytes) return overLimit;
  return refusedFault([{ code: 'BUNDLE_DIGEST', detail: `more bytes than the ${sizeBytes} announced` }]);
}

/** Bytes on disk after the complete body; `offset` when the response has no length. */
function expectedBytes({ contentLength }: ResponseHead, offset: number): number {
  return offset + (contentLength !== undefined && /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : 0);
}

/**
 * The target of a redirect: any https URL, or from http on loopback another one there; throws PROTOCOL_INVALID for any
 * other. A service with TLS thus cannot make the host call its own ports.
 */
function validateRedirect(location: string | undefined, from: URL): URL {
  const target = location !== undefined && URL.canParse(location, from.href) ? new URL(location, from.href) : null;
  if (target !== null && target.username === '' && target.password === '' && isSafeUrl(target, from)) return target;
  throw failedFault('PROTOCOL_INVALID', `bundle: redirected by ${from.origin} to where the agent does not go`);
}

function isSafeUrl({ protocol, hostname }: URL, from: URL): boolean {
  if (protocol === 'https:') return true;
  return protocol === 'http:' && from.protocol === 'http:' && isLoopback(hostname);
}
