import * as fs from 'node:fs';
import { promisify } from 'node:util';
import { readRegular } from '../../../platform/regularFile.ts';
import { wipe } from '../../secrets/wipe.ts';

/**
 * The calls of `node:fs/promises` that a tick makes for its few small files, each done before it returns, for the way through
 * the thread pool and back costs several times what such a call does (docs/performance.md). Only waiting for the disk goes that
 * way. No signal is heard during a call, so what may be large, or many, is read and changed by `node:fs/promises`.
 */
const atOnce =
  <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
  (...args: Args) =>
    Promise.try(call, ...args);

export const chmod = atOnce(fs.chmodSync);
export const lstat = atOnce((path: string) => fs.lstatSync(path));
export const mkdir = atOnce((dir: string, options: fs.MakeDirectoryOptions) => fs.mkdirSync(dir, options));
export const readdir = atOnce((dir: string) => fs.readdirSync(dir));
export const readlink = atOnce((path: string) => fs.readlinkSync(path));
export const rename = atOnce(fs.renameSync);
export const stat = atOnce((path: string) => fs.statSync(path));
export const symlink = atOnce((target: string, path: string) => fs.symlinkSync(target, path));
export const unlink = atOnce(fs.unlinkSync);

/**
 * The text of a file, which may be a secret: no other copy of it is left. Throws EISDIR or ENOTREG for what is no file, and
 * EFBIG for one that no agent wrote.
 */
export const readText = atOnce((path: string) => {
  const bytes = readRegular(path, mostText);
  try {
    return bytes.toString('utf8');
  } finally {
    wipe(bytes);
  }
});

/** The largest is the list of a bundle's files, each with a path of up to a kilobyte. */
const mostText = 256 * 2 ** 20;

/** How a file is written. */
export interface Writing {
  mode: number;
  /** Its content is on the disk before its name is. */
  durably: boolean;
}

/** Makes a file that was not there; `mode` holds whatever the umask is. No copy of what is written is left but the caller's. */
export async function create(path: string, data: string | Uint8Array, { mode, durably }: Writing): Promise<void> {
  using file = opened(path, 'wx', mode);
  fs.fchmodSync(file.fd, mode);
  const bytes = Buffer.from(data);
  try {
    fs.writeFileSync(file.fd, bytes);
  } finally {
    wipe(bytes);
  }
  if (durably) await fsync(file.fd);
}

/** Brings a file or directory to the disk. */
export async function sync(path: string): Promise<void> {
  using file = opened(path, 'r');
  await fsync(file.fd);
}

const fsync = promisify(fs.fsync);

function opened(path: string, flags: string, mode?: number) {
  const fd = fs.openSync(path, flags, mode);
  return { fd, [Symbol.dispose]: () => fs.closeSync(fd) };
}
