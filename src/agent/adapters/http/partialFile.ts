import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { requireRegularFile } from '../../../core/files.ts';
import { withDiskFault } from '../../../core/errors.rules.ts';
import { removeDurably, renameDurably } from '../files/durableFiles.ts';

/** Bytes that may be queued before `append` waits for the disk. */
const maxQueuedBytes = 262_144;

/** Chunks that may be queued; each costs some 280 bytes besides its content. */
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
export class PartialFile {
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
