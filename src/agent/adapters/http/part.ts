import { createHash, type Hash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { expectRegular } from '../../../platform/regularFile.ts';
import { diskFault, removeDurably, renameDurably } from '../files/files.ts';

/** Bytes that may wait for the disk before more are taken. */
const mostWaiting = 262_144;

/** Pieces that may: each costs some 280 bytes beside its own. */
const mostPieces = 1024;

/** Bytes after which the disk is set to work, so that little is left to be synced in the end. */
const syncEvery = 33_554_432;

/**
 * A file being downloaded (0600), and the sha256 of what lies in it:
 * - `bytes` and the digest always speak of the same bytes; they are written at once, while more come, and lie in the file
 *   when anything else is done to it;
 * - a write that fails is told by a later call, at the latest by `become` or `close`;
 * - it takes its final name only whole, synced, and by a rename that is synced too;
 * - closing it leaves the bytes for the next try.
 */
export class Part {
  bytes = 0;
  readonly #path: string;
  readonly #file: FileHandle;
  #hash: Hash = createHash('sha256');
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #writing: Promise<void> | null = null;
  #unsynced = 0;
  #syncing: Promise<void> = Promise.resolve();

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** Opens or creates the file and digests what an earlier try left in it; an abort cuts that short. */
  static async open(path: string, signal: AbortSignal): Promise<Part> {
    const { O_RDWR, O_CREAT, O_APPEND, O_NOFOLLOW, O_NONBLOCK } = constants;
    const flags = O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK;
    const file = await telling(path, () => open(path, flags, 0o600));
    const part = new Part(path, file);
    await telling(path, async () => {
      expectRegular(await file.stat());
      await part.#digestLeftovers(signal);
    }).catch(async (error: unknown) => {
      await part.close();
      throw error;
    });
    return part;
  }

  async append(chunk: Buffer): Promise<void> {
    this.#hash.update(chunk);
    this.bytes += chunk.length;
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.length;
    this.#writing ??= noticedLater(this.#writeWaiting());
    if (this.#waitingBytes >= mostWaiting || this.#waiting.length >= mostPieces) await this.#written();
  }

  async clear(): Promise<void> {
    await this.#written();
    await telling(this.#path, () => this.#file.truncate(0));
    this.#hash = createHash('sha256');
    this.bytes = 0;
  }

  /** Lower-case hex; more may be appended afterwards. */
  digest(): string {
    return this.#hash.copy().digest('hex');
  }

  /** Gives the file its final name, durably. */
  async become(path: string): Promise<void> {
    await this.#written();
    await telling(this.#path, () => this.#file.sync());
    await renameDurably(this.#path, path);
  }

  async remove(): Promise<void> {
    await removeDurably(this.#path);
  }

  async close(): Promise<void> {
    try {
      await this.#written();
    } finally {
      await telling(this.#path, () => this.#file.close());
    }
  }

  /** All that waits is in the file, and no sync under way. */
  async #written(): Promise<void> {
    await telling(this.#path, async () => {
      await this.#writing;
      await this.#syncing;
    });
  }

  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      const chunks = this.#waiting;
      this.#unsynced += this.#waitingBytes;
      this.#waiting = [];
      this.#waitingBytes = 0;
      await this.#file.appendFile(Buffer.concat(chunks));
      if (this.#unsynced < syncEvery) continue;
      await this.#syncing;
      this.#unsynced = 0;
      this.#syncing = noticedLater(this.#file.datasync());
    }
    this.#writing = null;
  }

  async #digestLeftovers(signal: AbortSignal): Promise<void> {
    const buffer = Buffer.alloc(1_048_576);
    for (;;) {
      const { bytesRead } = await this.#file.read(buffer, 0, buffer.length, this.bytes);
      if (bytesRead === 0 || signal.aborted) return;
      this.#hash.update(buffer.subarray(0, bytesRead));
      this.bytes += bytesRead;
    }
  }
}

/** A promise that somebody will await in the end, not always before it fails. */
function noticedLater(work: Promise<void>): Promise<void> {
  work.catch(() => undefined);
  return work;
}

async function telling<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw diskFault('write', path, error);
  }
}
