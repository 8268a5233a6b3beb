import { access, constants, type FileHandle, link, mkdir, open, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import type { Readable } from 'node:stream';
import { digestOfHandle, openRegularFile } from '../../core/files.ts';
import { isObject } from '../../core/json.rules.ts';
import { SignatureFault } from '../../signatures/judgement.rules.ts';
import { readSignatureFile } from '../../signatures/signatureFiles.ts';
import { CtlError, exits, usageError } from './ctlError.ts';

/** Creates a file and opens it for writing. Throws FILE_EXISTS rather than overwrite one, and FILE_UNWRITABLE. */
export async function createNewFile(file: string): Promise<FileHandle> {
  return open(file, 'wx').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw fileUnwritable(file, error);
    throw usageError('FILE_EXISTS', `${file} is there already`, 'name another place: nothing is overwritten');
  });
}

/** Writes a file that only its owner may read, in place of an older one; its directory is made where it is missing. */
export async function writePrivateFile(file: string, text: string): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await makePrivateDirectory(dirname(file));
    await writeFile(temporary, text, { mode: 0o600, flag: 'wx' });
    await rename(temporary, file);
  } catch (error) {
    await unlink(temporary).catch(() => undefined);
    throw fileUnwritable(file, error);
  }
}

/** Makes a directory for its owner alone; one that is there must be writable, and keeps its mode. */
export async function makePrivateDirectory(dir: string): Promise<void> {
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await access(dir, constants.W_OK);
  } catch (error) {
    throw fileUnwritable(dir, error);
  }
}

/** The error of a file that cannot be written; CtlErrors stay as they are. */
export function fileUnwritable(file: string, error: unknown): Error {
  if (error instanceof CtlError) return error;
  const { code = 'unknown' } = error as NodeJS.ErrnoException;
  return new CtlError({ exit: exits.failed, code: 'FILE_UNWRITABLE', message: `${file} cannot be written (${code})` });
}

/** Writes a file that everybody may read, whole or not at all. Throws FILE_EXISTS for one that is there, unless `force`. */
export async function writePublicFile(file: string, text: string, force: boolean): Promise<void> {
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await writeFile(temporary, text, { flag: 'wx' });
    await (force ? rename(temporary, file) : link(temporary, file));
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === 'EEXIST' ? fileExists(file) : fileUnwritable(file, error);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** The error of a file that must not be overwritten. */
export function fileExists(file: string): Error {
  return usageError('FILE_EXISTS', `${file} is there already`, 'name another by --out, or overwrite it by --force');
}

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

/** Reads the file of a signature, a JSON object; the service validates its content. Throws SIGNATURE_INVALID. */
export function readSignature(file: string): object {
  const json = readJson(file);
  if (isObject(json)) return json;
  throw signatureInvalid(`${file} is not a JSON object`);
}

function readJson(file: string): unknown {
  try {
    return readSignatureFile(file);
  } catch (error) {
    if (!(error instanceof SignatureFault)) throw error;
    throw signatureInvalid(error.message);
  }
}

function signatureInvalid(message: string): Error {
  return usageError('SIGNATURE_INVALID', message, 'name a Sigstore bundle, as `deployctl bundle sign` writes it');
}
