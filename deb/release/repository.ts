import { execFileSync } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { version } from '../../src/core/commandLine.ts';
import { runScript, UserError } from '../userError.ts';
import { writeAptRepository } from './aptRepository.ts';
import { writeDnfRepository } from './dnfRepository.ts';
import { readReleaseFiles } from './releaseFiles.ts';
import { replaceRepository } from './repositoryFolder.ts';
import { openSigningKey } from './signingKey.ts';

/** The inputs for publishing a repository. */
export interface RepositoryOptions {
  /** Paths of packages. */
  files: string[];
  /** File of the secret key. */
  keyFile: string;
  /** Time of the signed indexes; hosts ignore one that is older than what they have seen. */
  date: Date;
}

/** Adds packages to a repository of static files, which is created if it does not exist: `apt`, `dnf` and the public key. */
export async function publishToRepository(repository: string, options: RepositoryOptions): Promise<void> {
  execFileSync('sh', [join(import.meta.dirname, '../needs.sh'), 'repository'], { stdio: 'inherit' });
  const key = await openSigningKey(options.keyFile);
  try {
    const signing = { key, date: options.date };
    const ofFormat = (format: string) => options.files.filter((file) => file.endsWith(`.${format}`));
    await replaceRepository(repository, async (next) => {
      await writeAptRepository(next, ofFormat('deb'), signing);
      await writeDnfRepository(next, ofFormat('rpm'), signing);
      await writeFile(join(next.dir, 'deployd.asc'), key.publicKey);
    });
  } finally {
    await key.close();
  }
}

if (import.meta.main)
  await runScript(async () => {
    // Everybody reads what is published, and nobody else writes it, whatever the caller's mask is.
    process.umask(0o022);
    const { values } = parseArgs({
      options: { repository: { type: 'string' }, dir: { type: 'string', default: 'build/package' } },
    });
    const keyFile = process.env['REPOSITORY_KEY'];
    if (!values.repository) throw new UserError('name the directory of the repository: --repository DIR');
    if (!keyFile) throw new UserError('no key: set REPOSITORY_KEY to the file of an OpenPGP secret key');
    const epoch = process.env['SOURCE_DATE_EPOCH'];
    const names = (await readReleaseFiles(values.dir, version)).map(({ name }) => name);
    const files = names.filter((name) => /\.(deb|rpm)$/.test(name)).map((name) => join(values.dir, name));
    const date = epoch === undefined ? new Date() : new Date(Number(epoch) * 1000);
    await publishToRepository(values.repository, { files, keyFile, date });
    for (const file of files) console.log(`published: ${file}`);
  });
