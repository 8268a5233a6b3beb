import { closeSync, constants, fstatSync, openSync, readFileSync, type Stats } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/**
 * Reading of files, and of nothing else that may stand in their place: a FIFO, a socket or a device would be waited for
 * without end, or never end. Those of the kernel below /proc count as files.
 */

/** Opens a file to read it; a link is followed only on demand. Throws EISDIR or ENOTREG for what is no file. */
export async function openRegular(path: string, { follow }: { follow: boolean }): Promise<FileHandle> {
  const file = await open(path, readOnly | (follow ? 0 : constants.O_NOFOLLOW)).catch(told);
  try {
    expectRegular(await file.stat());
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

/**
 * The bytes of a small file, all at once. Throws EISDIR or ENOTREG for what is no file, and EFBIG for one of more than
 * so many bytes.
 */
export function readRegular(path: string, mostBytes = Infinity): Buffer<ArrayBuffer> {
  const fd = attempt(() => openSync(path, readOnly));
  try {
    const found = fstatSync(fd);
    expectRegular(found);
    if (found.size > mostBytes) throw Object.assign(new Error('too large'), { code: 'EFBIG' });
    return readFileSync(fd);
  } finally {
    closeSync(fd);
  }
}

/** Throws EISDIR or ENOTREG for what is no file. */
export function expectRegular(found: Stats): void {
  if (!found.isFile()) throw notRegular(found.isDirectory() ? 'EISDIR' : 'ENOTREG');
}

const { O_NOCTTY, O_NONBLOCK, O_RDONLY } = constants;

/** No terminal becomes the agent's, and no FIFO is waited for. */
const readOnly = O_RDONLY | O_NONBLOCK | O_NOCTTY;

function attempt<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    return told(error);
  }
}

/** ENXIO and ENODEV are what a socket, or a device without a driver, makes of being opened. */
function told(error: unknown): never {
  const { code = '' } = error as NodeJS.ErrnoException;
  throw ['ENXIO', 'ENODEV'].includes(code) ? notRegular('ENOTREG') : error;
}

function notRegular(code: 'EISDIR' | 'ENOTREG'): Error {
  return Object.assign(new Error('not a regular file'), { code });
}
