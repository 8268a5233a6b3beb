import { execFile } from 'node:child_process';
import { copyFile, readFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Signing } from './aptRepository.ts';
import { addPackages, takeOverPackages, type NextFolder } from './repositoryFolder.ts';

const run = promisify(execFile);
const query = async (format: string, file: string) =>
  (await run('rpm', ['-qp', '--nosignature', '--queryformat', format, file])).stdout;

/** Writes `dnf`: the packages of the present state, these with their signatures, and the signed index of all. */
export async function writeDnfRepository(next: NextFolder, files: string[], { key, date }: Signing): Promise<void> {
  await takeOverPackages(next, packages);
  await addPackages(join(next.dir, packages), files, {
    placeOf: (file) => query('%{NAME}-%{VERSION}.%{ARCH}.rpm', file),
    digestOf: (file) => query('%{SHA256HEADER}', file),
    publish: async (file) => {
      await key.signRpm(file);
      const built = Number(await query('%{BUILDTIME}', file));
      await utimes(file, built, built);
    },
  });
  const dir = join(next.dir, 'dnf');
  const options = ['--quiet', '--no-database', '--set-timestamp-to-revision'];
  await run('createrepo_c', [...options, '--revision', String(Math.floor(date.getTime() / 1000)), dir]);
  await key.signDetached(join(dir, index), join(dir, `${index}.asc`));
  if (next.previous !== null) await keepIndex(join(next.previous, 'dnf'), dir);
}

const packages = 'dnf/packages';
const index = 'repodata/repomd.xml';

/** Files in the previous index stay, for hosts that are reading it; the names are digests. */
async function keepIndex(previous: string, dir: string): Promise<void> {
  const named = (await readFile(join(previous, index), 'utf8')).matchAll(/href="(repodata\/[^"/]+)"/g);
  for (const [, file = ''] of named) await copyFile(join(previous, file), join(dir, file));
}
