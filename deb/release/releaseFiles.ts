import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UserError } from '../userError.ts';

/** One file of a release. */
export interface ReleaseFile {
  name: string;
  bytes: Buffer;
}

/** Reads the package, its checksum and the installer of a version, and verifies the checksum. */
export async function readReleaseFiles(dir: string, version: string): Promise<ReleaseFile[]> {
  const deb = `deployd_${version}_amd64.deb`;
  const names = [deb, `${deb}.sha256`, 'install.sh'];
  const files = await Promise.all(names.map(async (name) => ({ name, bytes: await readBuilt(join(dir, name)) })));
  const digest = createHash('sha256')
    .update(files[0]?.bytes ?? '')
    .digest('hex');
  if (files[1]?.bytes.toString() !== `${digest}  ${deb}\n`)
    throw new UserError(`${deb}.sha256 is not the checksum of ${deb}: build the package anew`);
  return files;
}

async function readBuilt(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch {
    throw new UserError(`${path} cannot be read: build the package first (npm run package)`);
  }
}
