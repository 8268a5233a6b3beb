import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, copyFile, lstat, mkdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { UserError } from '../userError.ts';

const run = promisify(execFile);

/** The folder for the next state of a repository. */
export interface NextFolder {
  dir: string;
  /** The present state; null in a new repository. */
  previous: string | null;
}

/**
 * Replaces a repository by the files that `write` writes into an empty folder, at once: the repository is a link to one
 * of two folders beside it. If `write` fails, the repository is not changed.
 */
export async function replaceRepository(repository: string, write: (next: NextFolder) => Promise<void>): Promise<void> {
  const link = resolve(repository);
  const previous = await targetOf(link);
  const dir = previous === `${link}.1` ? `${link}.2` : `${link}.1`;
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  await write({ dir, previous });
  await rm(`${link}.new`, { force: true });
  await symlink(basename(dir), `${link}.new`);
  await rename(`${link}.new`, link);
}

async function targetOf(link: string): Promise<string | null> {
  const found = await lstat(link).catch(() => null);
  if (found === null) return null;
  if (!found.isSymbolicLink())
    throw new UserError(`${link} is not a repository that this command made: name another place, or move it away`);
  return join(dirname(link), await readlink(link));
}

/**
 * Takes over the packages of the present state: versions that hosts are pinned to, or go back to. No published file is
 * changed.
 */
export async function takeOverPackages({ dir, previous }: NextFolder, packages: string): Promise<void> {
  const source = join(previous ?? '', packages);
  const target = join(dir, packages);
  await mkdir(target, { recursive: true });
  if (previous !== null) await run('cp', ['--archive', '--link', '--no-target-directory', source, target]);
}

/** The recognition of a package format, and the work on a package before it is published. */
export interface PackageFormat {
  /** Where it stands, below its repository. */
  placeOf: (file: string) => Promise<string>;
  /** Digest of the parts that publishing does not change. */
  digestOf: (file: string) => Promise<string>;
  publish: (file: string) => Promise<void>;
}

/** Adds packages below `dir`; one that is there already stays, and must be the same. */
export async function addPackages(dir: string, files: string[], format: PackageFormat): Promise<void> {
  for (const file of files) {
    const target = join(dir, await known(file, format.placeOf(file)));
    if (!existsSync(target)) {
      await mkdir(dirname(target), { recursive: true });
      await copyFile(file, target);
      await chmod(target, 0o644);
      await format.publish(target);
    } else if ((await format.digestOf(target)) !== (await format.digestOf(file)))
      throw new UserError(
        `${basename(target)} is in the repository already with other content: raise the version, for hosts may have it`,
      );
  }
}

async function known(file: string, place: Promise<string>): Promise<string> {
  try {
    return await place;
  } catch {
    throw new UserError(`${file} is not a package: build it again (npm run package)`);
  }
}
