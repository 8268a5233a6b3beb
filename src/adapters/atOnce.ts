import * as fs from 'node:fs';

/**
 * The calls of `node:fs/promises` that a tick makes for its few small files, by the same names, each done before it returns:
 * the way through the thread pool and back costs several times what such a call does (docs/performance.md). Meanwhile no signal
 * is heard, so whatever reads or changes a tree, or a file of any size, takes the other way.
 */
const atOnce =
  <Args extends unknown[], Result>(call: (...args: Args) => Result) =>
  (...args: Args) =>
    Promise.try(call, ...args);

export const chmod = atOnce(fs.chmodSync);
export const lstat = atOnce((path: string) => fs.lstatSync(path));
export const mkdir = atOnce((dir: string, options: fs.MakeDirectoryOptions) => fs.mkdirSync(dir, options));
export const readdir = atOnce((dir: string) => fs.readdirSync(dir));
export const readFile = atOnce((path: string, encoding: 'utf8') => fs.readFileSync(path, encoding));
export const readlink = atOnce((path: string) => fs.readlinkSync(path));
export const rename = atOnce(fs.renameSync);
export const stat = atOnce((path: string) => fs.statSync(path));
export const symlink = atOnce((target: string, path: string) => fs.symlinkSync(target, path));
export const unlink = atOnce(fs.unlinkSync);

/** Brings the file or directory to the disk. */
export const sync = atOnce((path: string) => {
  const file = fs.openSync(path, 'r');
  try {
    fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
});

/** Makes a file that was not there; `durably`, it is on the disk when this returns. */
export const create = atOnce((path: string, data: string | Uint8Array, how: { mode: number; durably: boolean }) => {
  const file = fs.openSync(path, 'wx', how.mode);
  try {
    fs.fchmodSync(file, how.mode);
    fs.writeFileSync(file, data);
    if (how.durably) fs.fsyncSync(file);
  } finally {
    fs.closeSync(file);
  }
});
