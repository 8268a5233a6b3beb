import { createHash } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError, requestAborted } from '../apiError.ts';
import type { Dependencies } from '../dependencies.ts';
import { withScratchDirectory } from './scratchDirectory.ts';

/** Longest silence of a caller within a body. */
const STALL_MS = 30_000;

/** An archive that is received into a file of this host. */
export interface ReceivedArchive {
  file: string;
  sha256: string;
  sizeBytes: number;
}

/** What is received, and until when. */
export interface Upload {
  body: Readable;
  /** The digest that the caller tells. */
  sha256: string;
  /** Aborted when the caller goes away. */
  signal: AbortSignal;
}

/**
 * Receives an archive into a file below the state directory, hands it to `use`, and removes it in any case. Throws 413
 * beyond `limits.bundle_bytes`, 422 `BUNDLE_DIGEST` if the bytes are not those of the digest, 408 if they stop arriving,
 * and 503 `DISK_FULL`.
 */
export async function withReceivedArchive<Result>(
  deps: Dependencies,
  upload: Upload,
  use: (archive: ReceivedArchive) => Promise<Result>,
): Promise<Result> {
  const maxBytes = deps.settings.limits.bundle_bytes;
  try {
    return await withScratchDirectory(deps, async (dir) =>
      use(await receive(upload, { file: join(dir, 'archive'), maxBytes })),
    );
  } catch (error) {
    throw upload.signal.aborted ? requestAborted() : error;
  }
}

async function receive(
  { body, sha256, signal }: Upload,
  { file, maxBytes }: { file: string; maxBytes: number },
): Promise<ReceivedArchive> {
  const hash = createHash('sha256');
  const stall = setTimeout(() => body.destroy(refusal(408, 'REQUEST_TIMEOUT', 'the body stopped to come')), STALL_MS);
  let sizeBytes = 0;
  const measured = async function* (chunks: AsyncIterable<Buffer>) {
    for await (const chunk of chunks) {
      stall.refresh();
      sizeBytes += chunk.length;
      if (sizeBytes > maxBytes)
        throw refusal(413, 'BUNDLE_TOO_LARGE', `a bundle has at most ${maxBytes} bytes (limits.bundle_bytes)`);
      hash.update(chunk);
      yield chunk;
    }
  };
  try {
    await pipeline(body, measured, createWriteStream(file, { flags: 'wx', mode: 0o600 }), { signal });
  } finally {
    clearTimeout(stall);
  }
  const received = hash.digest('hex');
  if (received === sha256) return { file, sha256, sizeBytes };
  const detail = `the ${sizeBytes} bytes have the sha256 ${received}`;
  const refusals = [{ code: 'BUNDLE_DIGEST', detail }];
  throw new ApiError({ status: 422, code: 'BUNDLE_DIGEST', message: detail, refusals });
}

function refusal(status: number, code: string, message: string): ApiError {
  return new ApiError({ status, code, message });
}
