import type { FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { Fault } from '../../../machines/fault.ts';
import type { Refusal } from '../../../machines/refusals.ts';
import { DiskFault } from '../../core/errors.rules.ts';
import { digestOfHandle, openRegularFile } from '../../core/files.ts';
import { isObject } from '../../core/json.rules.ts';
import { readSignatureFile } from '../../signatures/signatureFiles.ts';
import { SignatureFault } from '../../signatures/judgement.rules.ts';
import { CtlError, exits, usageError } from '../core/ctlError.ts';

/** Runs `work` on the files of a bundle; its Faults are thrown as CtlErrors. */
export async function withBundleFaults<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    const code = error.code === null ? 'FILE_UNREADABLE' : error instanceof DiskFault ? 'FILE_UNWRITABLE' : error.code;
    const message = error.message.replace(/^(refused: \w+|failed): /, '');
    throw new CtlError({ exit: exits.failed, code, message });
  }
}

/** The error of a bundle that hosts would refuse. */
export function refusedBundle(refusals: readonly Refusal[]): CtlError {
  const { code = 'MANIFEST_INVALID', detail = '' } = refusals[0] ?? {};
  return new CtlError({ exit: exits.failed, code, message: detail, refusals });
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
