import { collectBytes } from '../../core/streams.ts';
import { readRegularFile } from '../../core/files.ts';
import { CtlError, exits, type Io, usageError } from './ctlError.ts';

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

/** Asks for one line on the terminal, without echo. Ctrl-C and Ctrl-D end it. */
export async function readHidden({ stdin, stderr }: Io, prompt: string): Promise<string> {
  stderr.write(`${prompt}: `);
  stdin.setRawMode?.(true);
  stdin.setEncoding('utf8');
  let line = '';
  try {
    for await (const chunk of stdin as AsyncIterable<string>) {
      for (const key of chunk) {
        if (key === '\r' || key === '\n') return line;
        if (key === '\u0003' || key === '\u0004') throw interrupted();
        line = key === '\u007f' || key === '\b' ? line.slice(0, -1) : line + key;
      }
    }
    return line;
  } finally {
    stdin.setRawMode?.(false);
    stderr.write('\n');
  }
}

function interrupted(): CtlError {
  return new CtlError({ exit: exits.failed, code: 'INTERRUPTED', message: 'nothing was given' });
}

const maxSmallBytes = 65_536;

/** The text of a file of at most 64 KiB. Throws FILE_UNREADABLE. */
export function readSmallFile(file: string): string {
  try {
    return readRegularFile(file, maxSmallBytes).toString('utf8');
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException;
    throw usageError('FILE_UNREADABLE', `${file} cannot be read (${code})`);
  }
}
