import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { architectures, debNameOf } from '../architecture.ts';
import { digestOf } from '../digest.ts';
import { rpmNameOf } from '../rpmFile.ts';
import { UserError } from '../userError.ts';

/** One file of a release. */
export interface ReleaseFile {
  name: string;
  bytes: Buffer;
}

/** Files of a version that are published with a digest beside them; the agent's packages come first. */
export function digestedNames(version: string): string[] {
  const packages = ['deployd', 'deployd-tenancy', 'deployctl'].flatMap((name) =>
    architectures.map((architecture) => debNameOf(name, version, architecture)),
  );
  const rpms = architectures.map((architecture) => rpmNameOf(version, architecture));
  return [...packages, ...rpms, 'deployctl.cjs'];
}

/** Reads packages, deployctl in one file, their digests and the installer of a version, and verifies the digests. */
export async function readReleaseFiles(dir: string, version: string): Promise<ReleaseFile[]> {
  const digested = await Promise.all(digestedNames(version).map((name) => readDigested(dir, name)));
  return [...digested.flat(), await readBuilt(dir, 'install.sh')];
}

async function readDigested(dir: string, name: string): Promise<ReleaseFile[]> {
  const [file, digest] = [await readBuilt(dir, name), await readBuilt(dir, `${name}.sha256`)];
  if (digest.bytes.toString() !== `${digestOf(file.bytes)}  ${name}\n`)
    throw new UserError(`${name}.sha256 is not the checksum of ${name}: build the package again`);
  return [file, digest];
}

async function readBuilt(dir: string, name: string): Promise<ReleaseFile> {
  const path = join(dir, name);
  try {
    return { name, bytes: await readFile(path) };
  } catch {
    throw new UserError(`${path} cannot be read: build the package first (npm run package)`);
  }
}
