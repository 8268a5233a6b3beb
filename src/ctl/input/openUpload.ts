import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { digestOfHandle } from '../../bundle/fileDigest.ts';
import { openRegularFile } from '../../platform/regularFile.ts';
import { usageError } from '../ctlError.ts';

/** Opens a file to be sent. Throws FILE_UNREADABLE. */
export async function openUpload(file: string): Promise<{ bytes: Readable; size: number }> {
  const opened = await openFile(file);
  const { size } = await opened.stat();
  // a file that grows meanwhile must not make the body longer than its announced length
  return { bytes: opened.createReadStream({ end: Math.max(0, size - 1) }), size };
}

/** Hex sha256 of a file. Throws FILE_UNREADABLE. */
export async function sha256Of(file: string): Promise<string> {
  await using opened = await openFile(file);
  return await digestOfHandle(opened, Infinity, new AbortController().signal);
}

async function openFile(file: string): Promise<FileHandle> {
  return openRegularFile(file, { follow: true }).catch((error: unknown) => {
    throw usageError(
      'FILE_UNREADABLE',
      `${file} cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`,
    );
  });
}
