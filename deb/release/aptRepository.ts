import { execFile } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { architectures, type Architecture } from '../architecture.ts';
import { digestOf } from '../digest.ts';
import { addPackages, takeOverPackages, type NextFolder, type PackageFormat } from './repositoryFolder.ts';
import type { SigningKey } from './signingKey.ts';

const run = promisify(execFile);

const deb: PackageFormat = {
  placeOf: async (file) =>
    (await run('dpkg-deb', ['--show', '--showformat=${Package}/${Package}_${Version}_${Architecture}.deb', file]))
      .stdout,
  digestOf: async (file) => digestOf(await readFile(file)),
  publish: async () => {}, // the signed index has its digest
};

/** Writes `apt`: the packages of the present state, these, and the signed index of all. */
export async function writeAptRepository(next: NextFolder, files: string[], signing: Signing): Promise<void> {
  await takeOverPackages(next, pool);
  await addPackages(join(next.dir, pool), files, deb);
  for (const architecture of architectures) await writePackages(next, architecture);
  await writeRelease(join(next.dir, 'apt', suite), signing);
}

/** By which key and with which time an index is signed. */
export interface Signing {
  key: SigningKey;
  date: Date;
}

const pool = 'apt/pool/main';
const suite = 'dists/stable';

/** Writes the index of an architecture. The index of the present state stays by its digest, for hosts that are reading it. */
async function writePackages({ dir, previous }: NextFolder, architecture: Architecture): Promise<void> {
  const index = join('apt', suite, `main/binary-${architecture}`);
  const byHash = join(dir, index, 'by-hash/SHA256');
  await mkdir(byHash, { recursive: true });
  const args = [...digests, '--arch', architecture, 'packages', 'pool'];
  const { stdout } = await run('apt-ftparchive', args, { cwd: join(dir, 'apt'), maxBuffer: 2 ** 28 });
  const text = stdout
    .split(/\n\n+/)
    .filter(Boolean)
    .sort()
    .map((stanza) => `${stanza}\n\n`)
    .join('');
  const contents = { Packages: Buffer.from(text), 'Packages.gz': gzipSync(text) };
  for (const [name, content] of Object.entries(contents)) {
    await writeFile(join(dir, index, name), content);
    const before = previous === null ? content : await readFile(join(previous, index, name));
    for (const each of [content, before]) await writeFile(join(byHash, digestOf(each)), each);
  }
}

const digests = ['MD5', 'SHA1', 'SHA512'].flatMap((name) => ['-o', `APT::FTPArchive::${name}=false`]);

async function writeRelease(dir: string, { key, date }: Signing): Promise<void> {
  const fields = {
    Origin: 'deployd',
    Label: 'deployd',
    Suite: 'stable',
    Architectures: architectures.join(' '),
    Components: 'main',
    Date: date.toUTCString().replace('GMT', '+0000'),
    'Acquire-By-Hash': 'yes',
  };
  const options = Object.entries(fields).flatMap(([name, value]) => [
    '-o',
    `APT::FTPArchive::Release::${name}=${value}`,
  ]);
  const { stdout } = await run('apt-ftparchive', [...digests, ...options, 'release', '.'], { cwd: dir });
  const file = join(dir, 'Release');
  await writeFile(file, stdout);
  await key.signInline(file, join(dir, 'InRelease'));
  await key.signDetached(file, join(dir, 'Release.gpg'));
}
