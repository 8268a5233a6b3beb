import { readRegularFile } from '../../platform/regularFile.ts';
import { collectBytes } from '../../platform/collectBytes.ts';
import { usageError } from '../ctlError.ts';
import type { Io } from '../io.ts';
import { readHidden } from './readHidden.ts';

/** A value that must not stand in the command line: of a file byte for byte, else of standard input without its last newline. */
export async function readValue(io: Io, file: string | undefined, prompt: string): Promise<string> {
  if (file !== undefined) return textOf(readFileOf(file));
  if (io.stdin.isTTY) return readHidden(io, prompt);
  return textOf(await collectBytes(io.stdin, { maxBytes, tooLarge })).replace(/\r?\n$/, '');
}

/** The secretstore's own limit of a request is 32 MiB; no variable of a process may be longer than 128 KiB. */
const maxBytes = 1_048_576;

function readFileOf(file: string): Buffer {
  try {
    return readRegularFile(file, maxBytes);
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw code === 'EFBIG' ? tooLarge() : usageError('FILE_UNREADABLE', `${file} cannot be read (${code})`);
  }
}

function tooLarge(): Error {
  return usageError('VALUE_INVALID', `the value has more than ${maxBytes} bytes`);
}

function textOf(bytes: Buffer): string {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw usageError('VALUE_INVALID', 'the value is not UTF-8 text');
  }
}
